// What a lookup finds, against what is there.
#include "faults/actions/rows.h"

namespace onceproof::faults::actions {

std::vector<ActionSpec> lookup() {
  const std::vector<Point> at{Point::before_commit};
  return {
      {.kind = ActionKind::not_found, .name = "not_found", .points = at, .needs = Needs::read},
      {.kind = ActionKind::stale,
       .name = "stale",
       .points = at,
       .parameters = {{"by", &Action::duration, true, 1, kMaxDurationMs}},
       .needs = Needs::read},
      {.kind = ActionKind::truncated_page,
       .name = "truncated_page",
       .points = at,
       .parameters = {{"first", &Action::count, false, 0, 1'000}},
       .needs = Needs::read},
  };
}

}  // namespace onceproof::faults::actions
