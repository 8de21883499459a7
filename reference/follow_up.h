// What comes after a success: a receipt, a notification, an entry in somebody's books. Each is an
// operation of its own with a key derived from its parent's, so that it is never done twice,
// whoever records the success and however often. The journal registers them in the transaction that
// records it. Invariant: the same parent gives the same keys. Source: guide, "Журнал не заменяет
// транзакцию" (outbox).
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "reference/operation.h"
#include "reference/policy.h"
#include "reference/sealer.h"

namespace onceproof {

struct FollowUpParts {
  const Policy& policy;
  const Sealer* sealer;
  Random& random;
};

// The operations to register beside the success of `parent`, to which `external_id` and `result`
// belong. `params` are the parent's; null if they are not at hand. One that cannot be made has its
// reason in error_code, which the journal notes as `follow_up_refused`.
std::vector<Operation> make_follow_ups(const Operation& parent, const std::string& external_id,
                                       const Json& result, const Json& params, CivilTime now,
                                       const FollowUpParts& parts);

// Of the tool's steps, the one with the longest name: a key and an intent id must have room for it.
std::size_t longest_step(const ToolPolicy& tool);

}  // namespace onceproof
