// The bytes of a reply: too few, too slow, or none of HTTP.
#include "faults/actions/rows.h"

namespace onceproof::faults::actions {
namespace {

const std::vector<std::string_view> kEnds{"close", "reset"};

Action initial_drip() {
  Action action;
  action.bytes = 1;
  action.duration = Milliseconds{20};
  return action;
}

Action initial_garbage() {
  Action action;
  action.body = "\x16\x03\x01 this is no HTTP\r\n\r\n";
  return action;
}

}  // namespace

std::vector<ActionSpec> bytes() {
  using enum Point;
  return {
      {.kind = ActionKind::truncate,
       .name = "truncate",
       .points = {after_commit},
       .parameters = {{"at", &Action::bytes, true, 1, 1 << 20},
                      {.name = "then", .field = &Action::then, .words = kEnds}}},
      {.kind = ActionKind::half_body,
       .name = "half_body",
       .points = {after_commit},
       .parameters = {{.name = "then", .field = &Action::then, .words = kEnds}}},
      {.kind = ActionKind::drip,
       .name = "drip",
       .points = {after_commit},
       .parameters = {{"bytes", &Action::bytes, false, 1, 1 << 20},
                      {"every", &Action::duration, false, 1, 60'000}},
       .initial = initial_drip()},
      {.kind = ActionKind::garbage,
       .name = "garbage",
       .points = {request_received, before_commit, after_commit},
       .parameters = {{"body", &Action::body, false, 1, kMaxBodyBytes}},
       .initial = initial_garbage()},
      {.kind = ActionKind::bad_chunk, .name = "bad_chunk", .points = {after_commit}},
      {.kind = ActionKind::no_last_chunk, .name = "no_last_chunk", .points = {after_commit}},
  };
}

}  // namespace onceproof::faults::actions
