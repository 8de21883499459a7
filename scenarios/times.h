// The times of one cell: fractions of a second, so that a cell ends in about one.
// Invariant: call_timeout < lease; whatever scales, scales together.
#pragma once

#include "base/clock.h"
#include "fakes/profile.h"

namespace onceproof::scenarios {

struct CellTimes {
  Milliseconds call_timeout{300};
  Milliseconds lease{700};
  Milliseconds max_in_flight{50};
  Milliseconds index_delay{0};  // 250 ms where the profile has one
  Milliseconds unknown_after{1'500};
  Milliseconds check_initial{20};
  Milliseconds check_max{150};
  Milliseconds settle{
      4'100};  // the runner's own patience: from "all faults end" to the last intent's end
  double scale = 1.0;

  // From the start of a stall of this length on, a right executor could look late.
  Milliseconds tolerable_stall() const { return call_timeout / 3; }
};

// scale 1.0: as above; at a provider that can never tell, waiting gains nothing, so review comes
// sooner.
CellTimes make_times(const fakes::Profile& profile, double scale);
Milliseconds scaled(Milliseconds time, double scale);

}  // namespace onceproof::scenarios
