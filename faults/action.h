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
