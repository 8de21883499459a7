#include "scenarios/times.h"

#include <cmath>

namespace onceproof::scenarios {

Milliseconds scaled(Milliseconds time, double scale) {
  return Milliseconds{std::llround(static_cast<double>(time.count()) * scale)};
}

CellTimes make_times(const fakes::Profile& profile, double scale) {
  CellTimes times;
  if (profile.lookup == fakes::LookupBy::none && !profile.key_dedup) {
    times.unknown_after = Milliseconds{900};
  }
  if (profile.index_delay > Milliseconds{0}) times.index_delay = Milliseconds{250};
  times.settle = times.unknown_after + 4 * times.check_max + Milliseconds{2'000};
  for (Milliseconds* time :
       {&times.call_timeout, &times.lease, &times.max_in_flight, &times.index_delay,
        &times.unknown_after, &times.check_initial, &times.check_max, &times.settle}) {
    *time = scaled(*time, scale);
  }
  times.scale = scale;
  return times;
}

}  // namespace onceproof::scenarios
