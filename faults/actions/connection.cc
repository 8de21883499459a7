// How a connection ends without (the rest of) a reply.
#include "faults/actions/rows.h"

namespace onceproof::faults::actions {

std::vector<ActionSpec> connection() {
  using enum Point;
  const std::vector<Point> anywhere{connect,      request_received,    before_commit,
                                    after_commit, response_first_byte, response_sent};
  return {
      {.kind = ActionKind::close, .name = "close", .points = anywhere},
      {.kind = ActionKind::reset, .name = "reset", .points = anywhere},
      {.kind = ActionKind::hang,
       .name = "hang",
       .points = {connect, request_received, before_commit, after_commit, response_first_byte}},
      {.kind = ActionKind::slow_close,
       .name = "slow_close",
       .points = {response_sent},
       .parameters = {{"for", &Action::duration, true, 1, kMaxDurationMs}}},
  };
}

}  // namespace onceproof::faults::actions
