// Other answers than the true one, and the true one later.
#include "faults/actions/rows.h"

namespace onceproof::faults::actions {

std::vector<ActionSpec> answer() {
  using enum Point;
  return {
      {.kind = ActionKind::status,
       .name = "status",
       .points = {request_received, after_commit},
       .parameters = {{"code", &Action::status, true, kMinStatus, kMaxStatus},
                      {"body", &Action::body, false, 0, kMaxBodyBytes},
                      {"content_type", &Action::content_type, false, 1, kMaxTextBytes},
                      {"retry_after", &Action::duration, false, 0, kMaxDurationMs}},
       .initial = {.kind = ActionKind::status}},
      {.kind = ActionKind::delay,
       .name = "delay",
       .points = {request_received, after_commit},
       .parameters = {{"for", &Action::duration, true, 1, kMaxDurationMs}},
       .initial = {.kind = ActionKind::delay}},
  };
}

}  // namespace onceproof::faults::actions
