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

inline constexpr int kHashVersion = 1;  // kept in the journal: rows stay valid when the rules change

struct RequestHash {
  std::string hash;                                  // SHA-256 hex of canonical {"action":..., parameters...}
  std::map<std::string, std::string> field_digests;  // first 16 hex digits of SHA-256(salt, field, canonical value)
  Json normalised;                                   // the parameters as hashed
};

// Normalises by the policy's field rules, then hashes. `salt` is the operation key: digests of equal values differ between
// operations. Errors (invalid_argument) name the field and what is allowed, never its value.
Result<RequestHash> make_request_hash(std::string_view action, const Json& params, const ToolPolicy& policy,
                                      std::string_view salt);

// Names of the parameters that differ, sorted.
std::vector<std::string> differing_fields(const std::map<std::string, std::string>& before,
                                          const std::map<std::string, std::string>& after);

}  // namespace onceproof
