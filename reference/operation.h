// The journal's record of one intent, in the guide's words.
// Invariant: status is one of the guide's five; review is an unknown operation with review_since
// set. Source: guide, steps 1-3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"

namespace onceproof {

// Of a key, a tenant, an intent id, an external id: bytes.
inline constexpr std::size_t kLongestName = 200;

enum class Status {
  pending,       // registered, or proved absent: no effect exists; a call may be made
  in_progress,   // a worker holds a lease and may be calling
  unknown,       // no answer, or an ambiguous one: an effect may exist; verify first
  succeeded,     // confirmed, external_id is known
  failed_final,  // confirmed that no effect exists and none will
};

std::string_view to_text(Status status);
std::optional<Status> parse_status(std::string_view text);
inline bool is_terminal(Status status) {
  return status == Status::succeeded || status == Status::failed_final;
}

// What the user decided once. The orchestrator gives the intent id; the same decision always
// carries the same id.
struct Intent {
  std::string tenant;
  std::string intent_id;
  std::string action;  // "create_payment"
  Json params;
  std::optional<std::string>
      operation_key;       // the caller's own; absent: one is made at registration
  std::string parent_key;  // the operation that it is a step of; empty: none
};

struct Operation {
  std::string operation_key;
  std::string tenant;
  std::string intent_id;
  std::string action_type;
  std::string request_hash;  // SHA-256 hex of the canonical, normalised request
  int hash_version = 1;
  std::map<std::string, std::string>
      field_digests;  // per parameter, salted with the key: names what differs, shows no value
  Status status = Status::pending;
  std::int64_t attempt_count = 0;  // calls so far; the number of the last one is its fencing token
  std::optional<CivilTime> first_attempt_at;
  std::optional<CivilTime> last_attempt_at;
  std::optional<CivilTime> attempt_until;  // the lease of the last attempt as it was given; stays
                                           // when the lease is over: no call of it goes on later
  std::string lease_owner;
  std::optional<CivilTime> lease_until;  // in_progress: who holds it, and until when
  std::string external_id;
  Json result;  // allow-listed; null: none
  std::string error_code;
  std::string sealed_params;     // encrypted, for a resend without the caller; empty: not kept.
                                 // Erased when the operation ends
  std::string parent_key;        // the operation that this one follows; empty: none
  std::int64_t check_count = 0;  // lookups since it became unknown
  std::optional<CivilTime> unknown_since;
  std::optional<CivilTime> next_check_at;  // unknown: when to verify; pending: not before
  std::optional<CivilTime> review_since;
  std::string resolved_by;
  CivilTime created_at;
  CivilTime updated_at;
  std::int64_t event_count = 0;  // seq of its last event: what a reviewer says to have seen
};

}  // namespace onceproof
