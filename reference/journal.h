// The durable record of what was intended, tried and learned. One seam; SqliteJournal and MemoryJournal pass one conformance suite.
// Invariants: an operation key, and a (tenant, action, intent id), exist once; every change writes its event in the same
// transaction; a write that names an attempt which is no longer the last one is refused, except a confirmed success.
// Holds nothing open between calls: no transaction spans the network. Source: guide, steps 3-4.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "reference/operation.h"

namespace onceproof {

struct Registered {
  Operation operation;
  bool created = false;  // false: it was there already and is returned as it stands
};

struct ClaimRequest {
  std::string operation_key;
  std::int64_t expected_attempt = 0;  // attempt_count as the caller read it: of two that read the same, one wins
  std::string owner;
  CivilTime now;
  CivilTime lease_until;
};

struct Claim {
  Status prior_status = Status::pending;
  Operation operation;  // after: in_progress, attempt_count = expected_attempt + 1
};

struct Event {
  std::string operation_key;
  std::int64_t seq = 0;  // from 1, per operation
  CivilTime at;
  std::string actor;
  std::optional<Status> from_status;  // absent at registration
  Status to_status = Status::pending;
  std::string reason;  // "registered", "claimed", "confirmed", "rejected", "ambiguous", "absent", "still_unknown", "escalated",
                       // "duplicate_effect", "resolved"
  std::string detail;  // codes and numbers only, never payloads
};


class Journal {
 public:
  virtual ~Journal() = default;

  // Atomic insert-or-read by (tenant, action_type, intent_id) and by operation_key.
  // Errors: already_exists (the key belongs to another intent), journal_unavailable (indefinite).
  virtual Result<Registered> register_operation(const Operation& operation, std::string_view actor) = 0;

  // Registers and, if the operation is new, claims its first attempt, in one transaction. Returns the operation after.
  virtual Result<Registered> register_and_claim(const Operation& operation, std::string_view owner,
                                                CivilTime lease_until) = 0;

  // pending | unknown | in_progress with a dead lease -> in_progress, attempt_count + 1, last_attempt_at = now,
  // first_attempt_at if it was empty. Not if it is in review. At most one of all concurrent callers gets a Claim: one UPDATE that must change exactly one row.
  // Errors: lease_held (alive, or somebody was faster), stale_attempt (moved on), not_found.
  virtual Result<Claim> claim(const ClaimRequest& request) = 0;

  // in_progress | unknown (| pending, of the same attempt) -> succeeded. Always recorded, also from a stale attempt; if the operation is
  // terminal with another external id, nothing but a `duplicate_effect` event is written and `duplicate` is set.
  struct SuccessRecorded { Operation operation; bool duplicate = false; };
  virtual Result<SuccessRecorded> mark_succeeded(std::string_view operation_key, std::int64_t attempt, std::string_view external_id,
                                                 const Json& result, CivilTime now, std::string_view actor) = 0;
  // in_progress -> failed_final. Fenced. Errors: stale_attempt.
  virtual Result<Operation> mark_failed_final(std::string_view operation_key, std::int64_t attempt, std::string_view error_code,
                                              CivilTime now, std::string_view actor) = 0;
  // in_progress | unknown -> unknown: clears the lease, sets unknown_since if empty, next_check_at, check_count + 1 if it was
  // unknown already. Fenced.
  virtual Result<Operation> mark_unknown(std::string_view operation_key, std::int64_t attempt, std::string_view error_code,
                                         CivilTime next_check_at, CivilTime now, std::string_view actor) = 0;
  // in_progress | unknown -> pending: absence is proved (or the call never started). Clears lease, unknown_since, checks;
  // `not_before` (may be empty) becomes next_check_at. Fenced.
  virtual Result<Operation> release_for_retry(std::string_view operation_key, std::int64_t attempt, std::string_view reason,
                                              std::optional<CivilTime> not_before, CivilTime now, std::string_view actor) = 0;
  // unknown | in_progress -> unknown with review_since = now. Fenced.
  virtual Result<Operation> escalate(std::string_view operation_key, std::int64_t attempt, std::string_view reason,
                                     CivilTime now, std::string_view actor) = 0;

  virtual Result<Operation> load(std::string_view operation_key) = 0;  // Errors: not_found
  virtual Result<std::optional<Operation>> find(std::string_view tenant, std::string_view action_type,
                                                std::string_view intent_id) = 0;
  // Operations to verify: unknown and not in review with next_check_at <= now, in_progress with a dead lease; and pending that were
  // released (attempt_count > 0) with next_check_at empty or <= now. Oldest due first. Each one returned is put off to `now + hold`, so that concurrent
  // reconcilers get different ones.
  virtual Result<std::vector<Operation>> take_due(CivilTime now, Milliseconds hold, std::size_t limit) = 0;
  virtual Result<std::vector<Operation>> list(std::optional<Status> status, std::size_t limit) = 0;
  virtual Result<std::vector<Event>> events(std::string_view operation_key) = 0;
};

}  // namespace onceproof
