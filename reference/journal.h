// The durable record of what was intended, tried and learned. One seam; SqliteJournal and
// MemoryJournal pass one conformance suite. Invariants: an operation key, and a (tenant, action,
// intent id), exist once; every change writes its event in the same transaction; a write that names
// an attempt which is no longer the last one is refused, except a confirmed success. Holds nothing
// open between calls: no transaction spans the network. Source: guide, steps 3-4.
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
  std::int64_t expected_attempt =
      0;  // attempt_count as the caller read it: of two that read the same, one wins
  std::string owner;
  CivilTime now;
  CivilTime lease_until;
};

struct Claim {
  Status prior_status = Status::pending;
  Operation operation;  // after: in_progress, attempt_count = expected_attempt + 1
};

// What a person found out about an operation in review.
struct Resolution {
  enum class How {
    succeeded,  // the effect exists: external_id names it
    absent,     // no effect exists and none will: another call may be made
    failed,     // no effect exists, and none is wanted any more
  };
  How how = How::succeeded;
  std::string external_id;  // succeeded
  std::string by;           // who: 1..200 bytes
  std::string why;          // what they saw: 1..500 bytes, kept in the event's detail
  std::int64_t seen = 0;    // event_count of the operation as they saw it
};

struct ListFilter {
  std::optional<Status> status;
  bool in_review = false;
  std::string after_key;  // only keys behind this one: the next page
  std::size_t limit = 100;
};

struct Event {
  std::string operation_key;
  std::int64_t seq = 0;  // from 1, per operation
  CivilTime at;
  std::string actor;
  std::optional<Status> from_status;  // absent at registration
  Status to_status = Status::pending;
  // "registered", "claimed", "confirmed", "rejected", "ambiguous" (in_progress -> unknown),
  // "still_unknown" (unknown -> unknown), "absent" or whatever reason release_for_retry was given,
  // "escalated", "duplicate_effect", "resolved", "follow_up_refused"
  std::string reason;
  std::string detail;  // codes, numbers and the provider's ids only, never payloads
};

class Journal {
 public:
  virtual ~Journal() = default;

  // Atomic insert-or-read by (tenant, action_type, intent_id) and by operation_key. Of `operation`
  // only the intent counts (key, tenant, intent_id, action_type, request_hash, hash_version,
  // field_digests, sealed_params, parent_key) and created_at: the row begins as pending, and due at
  // once if its parameters are kept. Errors: already_exists (the key
  // belongs to another intent), invalid_argument (a member of a wrong form; only if the intent is
  // new), journal_unavailable (indefinite).
  virtual Result<Registered> register_operation(const Operation& operation,
                                                std::string_view actor) = 0;

  // Registers and, if the operation is new, claims its first attempt at created_at, in one
  // transaction. Returns the operation after.
  virtual Result<Registered> register_and_claim(const Operation& operation, std::string_view owner,
                                                CivilTime lease_until) = 0;

  // pending | unknown | in_progress with a dead lease (lease_until < now) -> in_progress,
  // attempt_count + 1, last_attempt_at = now, first_attempt_at if it was empty; clears
  // next_check_at, keeps unknown_since and check_count. Not if it is in review. At most one of all
  // concurrent callers gets a Claim: one UPDATE that must change exactly one row. Errors:
  // lease_held (alive, or somebody was faster), stale_attempt (moved on, ended, in review),
  // not_found.
  virtual Result<Claim> claim(const ClaimRequest& request) = 0;

  // in_progress | unknown | pending -> succeeded; clears lease, doubt, review and error_code.
  // Always recorded, also from a stale attempt or in review: the effect is a fact. If the operation
  // is terminal with another external id, or failed_final, nothing but a `duplicate_effect` event
  // is written and `duplicate` is set. The same success again changes nothing. `follow_ups` are
  // registered in the same transaction, if this call is the one that ends the operation; one whose
  // key or intent belongs to something else is left out, with a `follow_up_refused` event: a fact
  // is never lost for what was to come after it. Errors: not_found, invalid_argument (no
  // external_id).
  struct Success {
    std::string external_id;
    Json result;
    std::vector<Operation> follow_ups;
  };
  struct SuccessRecorded {
    Operation operation;
    bool duplicate = false;
  };
  virtual Result<SuccessRecorded> mark_succeeded(std::string_view operation_key,
                                                 std::int64_t attempt, const Success& success,
                                                 CivilTime now, std::string_view actor) = 0;

  // The next four are fenced: `attempt` must be the last one. Errors: stale_attempt (it is not, or
  // the operation is in another status than named, or in review), not_found.

  // in_progress -> failed_final. `result` is what is kept of the rejection; null: nothing.
  struct Failure {
    std::string error_code;
    Json result;
  };
  virtual Result<Operation> mark_failed_final(std::string_view operation_key, std::int64_t attempt,
                                              const Failure& failure, CivilTime now,
                                              std::string_view actor) = 0;
  // in_progress | unknown -> unknown: clears the lease, sets unknown_since if empty, next_check_at,
  // check_count + 1 if it was unknown already.
  virtual Result<Operation> mark_unknown(std::string_view operation_key, std::int64_t attempt,
                                         std::string_view error_code, CivilTime next_check_at,
                                         CivilTime now, std::string_view actor) = 0;
  // in_progress | unknown -> pending: absence is proved (or the call never started). Clears lease,
  // unknown_since, checks; `not_before` (may be empty) becomes next_check_at. Due again then (or
  // at once) if its parameters are kept.
  virtual Result<Operation> release_for_retry(std::string_view operation_key, std::int64_t attempt,
                                              std::string_view reason,
                                              std::optional<CivilTime> not_before, CivilTime now,
                                              std::string_view actor) = 0;
  // unknown | in_progress -> unknown with review_since = now; the event's detail is `reason`.
  virtual Result<Operation> escalate(std::string_view operation_key, std::int64_t attempt,
                                     std::string_view reason, CivilTime now,
                                     std::string_view actor) = 0;

  // A person ends a review: -> succeeded (with its follow-ups), pending or failed_final; sets
  // resolved_by. Errors: stale_attempt (not in review, or something happened after what they saw),
  // invalid_argument, not_found.
  virtual Result<Operation> resolve(std::string_view operation_key, const Resolution& resolution,
                                    const std::vector<Operation>& follow_ups, CivilTime now) = 0;

  virtual Result<Operation> load(std::string_view operation_key) = 0;  // Errors: not_found
  virtual Result<std::optional<Operation>> find(std::string_view tenant,
                                                std::string_view action_type,
                                                std::string_view intent_id) = 0;
  // Operations to verify: unknown and not in review with next_check_at <= now, in_progress with a
  // dead lease (once a hold, see below, has passed); and to deliver: pending ones whose parameters
  // are kept, from next_check_at on. (With the others nothing can be done before the next submit.)
  // Oldest due first. Each one returned is put off to `now + hold` (no event: its
  // state is the same), so that concurrent reconcilers get different ones.
  virtual Result<std::vector<Operation>> take_due(CivilTime now, Milliseconds hold,
                                                  std::size_t limit) = 0;
  // In the order of operation keys; with made keys that is the order of registration.
  virtual Result<std::vector<Operation>> list(const ListFilter& filter) = 0;
  // In the order of their keys: follow-ups and steps of this operation.
  virtual Result<std::vector<Operation>> children(std::string_view parent_key) = 0;
  // In order; none for an unknown key.
  virtual Result<std::vector<Event>> events(std::string_view operation_key) = 0;
};

}  // namespace onceproof
