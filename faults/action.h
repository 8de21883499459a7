// What a fault does. Plain data: which kind, and the parameters that its kind has; the others keep
// their defaults. What each kind means, where it can be and which parameters it has stands in its
// ActionSpec (action_spec.h), one small file a kind of thing in faults/actions/.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace onceproof::faults {

enum class ActionKind {
  close,   // FIN without another byte
  reset,   // RST (SO_LINGER 0) without another byte
  hang,    // no byte until the client gives up or the fake stops
  status,  // a complete answer with this status, body and content type, instead of the true one
  delay,   // everything goes on, later by `duration`
  kill,  // SIGKILL to the worker that sent the request; the worker is dead before the fake goes on;
         // then close
  pause,      // SIGSTOP to the worker that sent the request, SIGCONT after `duration`; meanwhile
              // everything goes on
  truncate,   // so many `bytes` of the true reply, head and body counted; `then` FIN or RST
  half_body,  // the head and half of the body of the true reply; `then` FIN or RST
  drip,       // the true reply, `bytes` at a time, `duration` between them
  garbage,    // the bytes of `body`, which are no HTTP; then FIN
  bad_chunk,  // the true reply in chunks: half of its body, then a size that is none; then FIN
  no_last_chunk,   // the true reply in chunks, whole, without the chunk that ends it; then FIN
  wrong_shape,     // 200 with a body that says nothing of what was asked for
  redirect,        // `status` and a Location
  slow_close,      // after the last byte nothing for `duration`, whatever comes; then FIN
  not_found,       // a lookup that finds nothing
  stale,           // a lookup that sees only what was committed `duration` ago
  truncated_page,  // a lookup that shows only the first `count`, and says that there is more
  commit_later,    // the commit comes `duration` later; until then hang, or answer `status` at once
  partial,         // of several effects the first `count` are committed; then `status`
  forget_key,      // the provider forgets the request's key; then RST
  keep_error,      // answers `status` and keeps that answer for the key; nothing is committed
  in_flight_for_ever,  // nothing is committed, the key stays in flight; then RST
};

struct Action {
  ActionKind kind = ActionKind::close;
  int status = 0;
  std::string body;  // at most 64 KiB
  std::string content_type = "application/json";
  Milliseconds duration{0};
  std::uint64_t bytes = 0;
  std::uint32_t count = 0;
  std::string location;
  std::string then;  // a word of the kind's own

  bool operator==(const Action&) const = default;
};

}  // namespace onceproof::faults
