// What a fault's action comes to at the proxy. A new action needs a row in make_strike and, if it
// is a new kind of ending, a case in Exchange::carry_out. Knows no sockets.
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "faults/fault.h"
#include "faults/http.h"

namespace onceproof::proxy {

struct Strike {
  faults::Ending ending = faults::Ending::answer;
  std::optional<faults::HttpReply> reply;    // answer: instead of the upstream's
  std::optional<std::uint64_t> let_through;  // so many bytes of the upstream's, then `ending`
  Milliseconds delay{0};                     // then everything goes on
  bool replaces() const { return !let_through && delay == Milliseconds{0}; }
};

// nullopt: the proxy cannot do this. `action` with its body.
std::optional<Strike> make_strike(const faults::Action& action);

// Errors: invalid_argument, if the proxy cannot do what the fault says.
Result<void> check_for_proxy(const faults::Fault& fault);

}  // namespace onceproof::proxy
