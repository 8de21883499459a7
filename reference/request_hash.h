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

struct RequestHash {
  // SHA-256 hex of canonical {"action":..., parameters...}; of {"action":..., "params":{...}} if a
  // parameter has one of these names
  std::string hash;
  std::map<std::string, std::string>
      field_digests;  // first 16 hex digits of SHA-256(salt, newline, canonical {field: value})
  Json normalised;    // the parameters as hashed
};

// Normalises by the policy's field rules of that version (reference/normalise.h), then hashes: an
// operation is compared by the version that its row names. `salt` is the
// operation key: digests of equal values differ between operations. They name what differs and are
// no secret-keeping: who has the journal can try out amounts. Errors (invalid_argument) name the
// field and what is allowed, never its value; unsupported: the policy has no such version.
Result<RequestHash> make_request_hash(std::string_view action, const Json& params,
                                      const ToolPolicy& policy, int version, std::string_view salt);

// What is sent: the parameters as they were hashed, so that every retry of one meaning has the same
// bytes, and the fields that do not count as they were given.
Json params_to_send(const Json& given, const Json& normalised);

// Names of the parameters that differ, sorted.
std::vector<std::string> differing_fields(const std::map<std::string, std::string>& before,
                                          const std::map<std::string, std::string>& after);

}  // namespace onceproof
