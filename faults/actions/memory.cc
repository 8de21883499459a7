// What the provider remembers of a key.
#include "faults/actions/rows.h"

namespace onceproof::faults::actions {
namespace {

Action initial_error() {
  Action action;
  action.status = 500;
  action.body = R"({"error":{"code":"internal_error","message":"try again"}})";
  return action;
}

}  // namespace

std::vector<ActionSpec> memory() {
  return {
      {.kind = ActionKind::forget_key,
       .name = "forget_key",
       .points = {Point::after_commit},
       .needs = Needs::key},
      {.kind = ActionKind::keep_error,
       .name = "keep_error",
       .points = {Point::before_commit},
       .parameters = {{"code", &Action::status, false, 400, kMaxStatus},
                      {"body", &Action::body, false, 0, kMaxBodyBytes}},
       .initial = initial_error(),
       .needs = Needs::key},
      {.kind = ActionKind::in_flight_for_ever,
       .name = "in_flight_for_ever",
       .points = {Point::before_commit},
       .needs = Needs::key},
  };
}

}  // namespace onceproof::faults::actions
