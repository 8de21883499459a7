#include "reference/protocol.h"

#include <algorithm>

namespace onceproof {
namespace {

constexpr Milliseconds kInstant{1};  // the resolution of CivilTime

bool lease_is_alive(const Operation& operation, CivilTime now) {
  return operation.lease_until && now <= *operation.lease_until;
}

bool has_calls_left(const Operation& operation, const ToolPolicy& policy) {
  return operation.attempt_count < policy.max_attempts;
}

// A random time up to check_initial * 2^round, at most check_max: full jitter, which keeps workers
// that failed together from asking together. Source: M. Brooker, "Exponential Backoff And Jitter".
Milliseconds backoff(std::int64_t round, const ToolPolicy& policy, Random& jitter) {
  Milliseconds longest = std::min(policy.check_initial, policy.check_max);
  for (std::int64_t i = 0; i < round && longest < policy.check_max; ++i) {
    longest = std::min(longest * 2, policy.check_max);
  }
  const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(longest.count(), 1));
  return kInstant + Milliseconds{jitter.below(most)};
}

// Resends count too: each of them is a question to the provider that brought no answer.
std::int64_t rounds_so_far(const Operation& operation) {
  return std::max<std::int64_t>(operation.attempt_count - 1, 0) + operation.check_count;
}

bool is_confirmed(const CallOutcome& outcome) {
  return outcome.kind == OutcomeKind::confirmed && !outcome.external_id.empty();
}

bool is_found(const LookupResult& lookup) {
  return lookup.kind == LookupKind::found && !lookup.external_id.empty();
}

}  // namespace

std::optional<CivilTime> Protocol::provable_absence_at(const Operation& operation,
                                                       const ToolPolicy& policy,
                                                       const Guarantees& guarantees) {
  if (!guarantees.lookup || !guarantees.lookup->complete) return std::nullopt;
  if (!operation.last_attempt_at) return std::nullopt;
  CivilTime call_ended = *operation.last_attempt_at + policy.lease;
  // The lease as it was given, if the policy has become shorter since.
  if (operation.attempt_until) call_ended = std::max(call_ended, *operation.attempt_until);
  return call_ended + guarantees.max_in_flight + guarantees.lookup->index_delay;
}

bool Protocol::key_dedup_is_live(const Operation& operation, const ToolPolicy& policy,
                                 const Guarantees& guarantees, CivilTime now) {
  if (!guarantees.key_dedup) return false;
  const CivilTime first = operation.first_attempt_at.value_or(now);
  // The last instant at which the call may still be taking effect.
  const CivilTime ends = now + policy.call_timeout + guarantees.max_in_flight;
  return ends < first + guarantees.key_dedup->window;
}

Decision Protocol::on_submit(const Found& found, const ToolPolicy&, const Guarantees&,
                             CivilTime now) const {
  const Operation& operation = found.operation;
  if (!found.same_hash) return {Do::answer_conflict, "hash_differs", {}};
  if (is_terminal(operation.status)) return {Do::answer_stored, "terminal", {}};
  if (operation.review_since) return {Do::answer_review, "in_review", {}};
  const bool ahead = operation.next_check_at && *operation.next_check_at > now;
  switch (operation.status) {
    case Status::pending:
      if (ahead) return {Do::answer_pending, "not_yet", operation.next_check_at};
      return {Do::claim_and_call, "no_effect_exists", {}};
    case Status::in_progress:
      if (lease_is_alive(operation, now)) return {Do::answer_in_progress, "lease_alive", {}};
      return {Do::verify, "lease_dead", {}};
    default:
      // A caller that hammers must not cause a storm of lookups.
      if (ahead) return {Do::answer_unknown, "not_due", operation.next_check_at};
      return {Do::verify, "unknown", {}};
  }
}

Decision Protocol::on_due(const Operation& operation, const ToolPolicy&, const Guarantees&,
                          CivilTime now) const {
  if (is_terminal(operation.status)) return {Do::answer_stored, "terminal", {}};
  if (operation.review_since) return {Do::answer_review, "in_review", {}};
  switch (operation.status) {
    case Status::pending:
      if (operation.next_check_at && *operation.next_check_at > now) {
        return {Do::answer_pending, "not_yet", operation.next_check_at};
      }
      return {Do::claim_and_call, "no_effect_exists", {}};
    case Status::in_progress:
      if (lease_is_alive(operation, now)) return {Do::answer_in_progress, "lease_alive", {}};
      return {Do::verify, "lease_dead", {}};
    default:
      return {Do::verify, "unknown", {}};
  }
}

bool Protocol::may_send(const Operation& claimed, const ToolPolicy& policy, CivilTime now) const {
  return claimed.lease_until && now + policy.call_timeout < *claimed.lease_until;
}

bool Protocol::may_resend(const Operation& claimed, const ToolPolicy& policy,
                          const Guarantees& guarantees, CivilTime now) const {
  return may_send(claimed, policy, now) && key_dedup_is_live(claimed, policy, guarantees, now);
}

Decision Protocol::on_outcome(const Operation& operation, Status prior, const CallOutcome& outcome,
                              const ToolPolicy& policy, const Guarantees& guarantees, CivilTime now,
                              Random& jitter) const {
  if (is_confirmed(outcome)) return {Do::record_succeeded, "confirmed", {}};
  std::optional<CivilTime> not_before;
  // What the provider asks for is kept, but an operation is not parked for ever by one header.
  if (outcome.retry_after) not_before = now + std::min(*outcome.retry_after, policy.unknown_after);
  // Proof about this attempt is no proof about an earlier one that is unresolved.
  if (prior == Status::pending && outcome.kind == OutcomeKind::rejected) {
    return {Do::record_failed_final, "rejected", {}};
  }
  if (prior == Status::pending && outcome.kind == OutcomeKind::not_started) {
    if (!has_calls_left(operation, policy)) return {Do::escalate, "attempts_exhausted", {}};
    const CivilTime again = now + backoff(rounds_so_far(operation), policy, jitter);
    return {Do::release, "not_started", std::max(again, not_before.value_or(again))};
  }
  return on_unresolved(operation, policy, guarantees, now, jitter, not_before);
}

Decision Protocol::on_lookup(const Operation& operation, const LookupResult& lookup,
                             CivilTime asked_at, const ToolPolicy& policy,
                             const Guarantees& guarantees, CivilTime now, Random& jitter) const {
  if (is_found(lookup)) return {Do::record_succeeded, "found", {}};
  if (lookup.kind == LookupKind::found_several) return {Do::escalate, "several_effects", {}};
  const bool exists =
      lookup.kind == LookupKind::found || lookup.kind == LookupKind::found_incomplete;
  if (exists) return on_unresolved(operation, policy, guarantees, now, jitter);
  const auto provable = provable_absence_at(operation, policy, guarantees);
  if (lookup.kind == LookupKind::not_found && provable && asked_at > *provable) {
    if (!has_calls_left(operation, policy)) return {Do::escalate, "attempts_exhausted", {}};
    return {Do::release, "absent", {}};
  }
  if (key_dedup_is_live(operation, policy, guarantees, now) && has_calls_left(operation, policy)) {
    return {Do::claim_and_call, "key_is_live", {}};
  }
  return on_unresolved(operation, policy, guarantees, now, jitter);
}

Decision Protocol::on_unresolved(const Operation& operation, const ToolPolicy& policy,
                                 const Guarantees& guarantees, CivilTime now, Random& jitter,
                                 std::optional<CivilTime> not_before) const {
  const CivilTime limit = operation.unknown_since.value_or(now) + policy.unknown_after;
  if (now > limit) return {Do::escalate, "unknown_after", {}};
  CivilTime at = now + backoff(rounds_so_far(operation), policy, jitter);
  // Not later than the next instant at which time alone changes what a lookup can prove, or who
  // decides.
  const auto provable = provable_absence_at(operation, policy, guarantees);
  if (provable && *provable >= now) at = std::min(at, *provable + kInstant);
  at = std::min(at, limit + kInstant);
  if (not_before) at = std::max(at, *not_before);
  return {Do::record_unknown, "cannot_tell", at};
}

}  // namespace onceproof
