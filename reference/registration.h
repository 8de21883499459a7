// From an intent to the row that will stand for it, and to the parameters as they are sent. Pure
// but for sealing; registers nothing. Invariant: one meaning gives one hash and the same bytes to
// send, whoever prepares it: executor, outbox, follow-up or plan. Source: guide, steps 1-3.
#pragma once

#include <string>

#include "base/error.h"
#include "base/random.h"
#include "reference/guarantees.h"
#include "reference/operation.h"
#include "reference/policy.h"
#include "reference/sealer.h"

namespace onceproof {

// The names have 1 to 200 bytes (a tenant may be empty), params is an object that leaves the
// provider's reference field alone, and key and intent id have room for the tool's follow-ups.
// Errors: invalid_argument.
Result<void> check_intent(const Intent& intent, const ToolPolicy& tool,
                          const Guarantees& guarantees);

// A tool that keeps parameters, its own or those of what follows it, needs the key before the call:
// after it, a success could not be recorded whole. Errors: invalid_argument.
Result<void> check_key(std::string_view action, const ToolPolicy& tool, const Sealer* sealer);

struct Prepared {
  Operation operation;  // to register
  Json params;          // to send
};

// Under the intent's own key, or one made now. `sealer` may be null if the tool keeps no
// parameters. Errors: invalid_argument (a parameter breaks the policy; or the tool keeps its
// parameters and there is no key to do so).
Result<Prepared> prepare_operation(const Intent& intent, const ToolPolicy& tool, CivilTime now,
                                   const Sealer* sealer, Random& random);

}  // namespace onceproof
