// How a connection ends without (the rest of) a reply.
#include "faults/actions/rows.h"

namespace onceproof::faults::actions {

std::vector<ActionSpec> connection() {
  using enum Point;
  return {
      {.kind = ActionKind::close,
       .name = "close",
       .points = {request_received, after_commit, response_sent}},
      {.kind = ActionKind::reset,
       .name = "reset",
       .points = {request_received, after_commit, response_sent}},
      {.kind = ActionKind::hang, .name = "hang", .points = {request_received, after_commit}},
  };
}

}  // namespace onceproof::faults::actions
