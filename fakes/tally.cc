#include "fakes/tally.h"

#include "fakes/wire_log.h"

namespace onceproof::fakes {

void Tally::add(const WireEntry& entry) {
  if (entry.disposition != Disposition::pending) {
    ++requests[{entry.service, entry.route, entry.disposition}];
  }
  if (!entry.responded_at) return;
  const double took =
      std::chrono::duration<double>(*entry.responded_at - entry.received_at).count();
  ++timed;
  seconds += took;
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    if (took > kBounds[i]) continue;
    ++within[i];
    break;
  }
}

}  // namespace onceproof::fakes
