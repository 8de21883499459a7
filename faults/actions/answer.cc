// Other answers than the true one, and the true one later.
#include "faults/actions/rows.h"

namespace onceproof::faults::actions {
namespace {

Action initial(int status, std::string body, std::string location) {
  Action action;
  action.status = status;
  action.body = std::move(body);
  action.location = std::move(location);
  return action;
}

}  // namespace

std::vector<ActionSpec> answer() {
  using enum Point;
  const std::vector<Point> instead{request_received, before_commit, after_commit};
  return {
      {.kind = ActionKind::status,
       .name = "status",
       .points = instead,
       .parameters = {{"code", &Action::status, true, kMinStatus, kMaxStatus},
                      {"body", &Action::body, false, 0, kMaxBodyBytes},
                      {"content_type", &Action::content_type, false, 1, kMaxTextBytes},
                      {"retry_after", &Action::duration, false, 0, kMaxDurationMs}}},
      {.kind = ActionKind::delay,
       .name = "delay",
       .points = {connect, request_received, before_commit, after_commit, response_first_byte},
       .parameters = {{"for", &Action::duration, true, 1, kMaxDurationMs}}},
      {.kind = ActionKind::wrong_shape,
       .name = "wrong_shape",
       .points = instead,
       .parameters = {{"body", &Action::body, false, 0, kMaxBodyBytes},
                      {"content_type", &Action::content_type, false, 1, kMaxTextBytes}},
       .initial = initial(200, R"({"result":null})", "")},
      {.kind = ActionKind::redirect,
       .name = "redirect",
       .points = instead,
       // "self": the target that was asked for.
       .parameters = {{"to", &Action::location, true, 1, kMaxTextBytes},
                      {"code", &Action::status, false, 301, 308}},
       .initial = initial(307, "", "")},
  };
}

}  // namespace onceproof::faults::actions
