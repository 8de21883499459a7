// What happens to the worker that sent the request.
#include "faults/actions/rows.h"

namespace onceproof::faults::actions {

std::vector<ActionSpec> worker() {
  using enum Point;
  return {
      {.kind = ActionKind::kill,
       .name = "kill",
       .points = {request_received, after_commit, response_sent},
       .initial = {.kind = ActionKind::kill}},
  };
}

}  // namespace onceproof::faults::actions
