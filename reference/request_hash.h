// The immutable part of an intent and its fingerprint.
// Invariant: two requests have one hash <=> policy says they mean the same.
// Source: guide, step 2.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "reference/policy.h"

namespace onceproof {

inline constexpr int kHashVersion =
    1;  // kept in the journal: rows stay valid when the rules change

struct RequestHash {
  // SHA-256 hex of canonical {"action":..., parameters...}; of {"action":..., "params":{...}} if a
  // parameter has one of these names
  std::string hash;
  std::map<std::string, std::string>
      field_digests;  // first 16 hex digits of SHA-256(salt, newline, canonical {field: value})
  Json normalised;    // the parameters as hashed
};

// Normalises by the policy's field rules (reference/normalise.h), then hashes. `salt` is the
// operation key: digests of equal values differ between operations. They name what differs and are
// no secret-keeping: who has the journal can try out amounts. Errors (invalid_argument) name the
// field and what is allowed, never its value.
Result<RequestHash> make_request_hash(std::string_view action, const Json& params,
                                      const ToolPolicy& policy, std::string_view salt);

// Names of the parameters that differ, sorted.
std::vector<std::string> differing_fields(const std::map<std::string, std::string>& before,
                                          const std::map<std::string, std::string>& after);

}  // namespace onceproof
