// What happens to the worker that sent the request.
#include "faults/actions/rows.h"

namespace onceproof::faults::actions {

std::vector<ActionSpec> worker() {
  using enum Point;
  const std::vector<Point> points{request_received, before_commit, after_commit,
                                  response_first_byte, response_sent};
  return {
      {.kind = ActionKind::kill, .name = "kill", .points = points},
      {.kind = ActionKind::pause,
       .name = "pause",
       .points = {request_received, before_commit, after_commit, response_first_byte},
       .parameters = {{"for", &Action::duration, true, 1, kMaxDurationMs}}},
  };
}

}  // namespace onceproof::faults::actions
