// When the effect comes, and how much of it.
#include "faults/actions/rows.h"

namespace onceproof::faults::actions {
namespace {

Action initial_partial() {
  Action action;
  action.status = 500;
  return action;
}

}  // namespace

std::vector<ActionSpec> commit() {
  const std::vector<Point> at{Point::before_commit};
  return {
      {.kind = ActionKind::commit_later,
       .name = "commit_later",
       .points = at,
       .parameters = {{"after", &Action::duration, true, 1, kMaxDurationMs},
                      {"answer", &Action::status, false, 0, kMaxStatus}},  // 0: hang
       .needs = Needs::write},
      {.kind = ActionKind::partial,
       .name = "partial",
       .points = at,
       .parameters = {{"first", &Action::count, true, 0, 10'000},
                      {"answer", &Action::status, false, kMinStatus, kMaxStatus}},
       .initial = initial_partial(),
       .needs = Needs::write},
  };
}

}  // namespace onceproof::faults::actions
