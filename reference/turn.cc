#include "reference/turn.h"

#include "base/check.h"
#include "reference/follow_up.h"
#include "reference/request_hash.h"

namespace onceproof {
namespace {

// After a call, the record is worth some patience: without it, what was learned must be verified
// again.
constexpr int kRecordTries = 4;
constexpr Milliseconds kRecordWait{10};  // doubles

Result<Json> kept_params(const Operation& operation, const Sealer* sealer) {
  if (sealer == nullptr) return fail(ErrorCode::not_found, "no key to open parameters with");
  return sealer->open(operation.operation_key, operation.sealed_params);
}

}  // namespace

Result<std::optional<Claim>> Turn::claim(const Operation& operation) {
  const CivilTime now = parts_.clock.civil();
  auto claim = parts_.journal.claim(
      {operation.operation_key, operation.attempt_count, parts_.owner, now, now + policy_.lease});
  if (claim) return std::optional<Claim>(std::move(*claim));
  const ErrorCode code = claim.error().code;
  if (code == ErrorCode::lease_held || code == ErrorCode::stale_attempt) return std::nullopt;
  return tl::unexpected(claim.error());
}

Turn::Verified Turn::verify(const Operation& operation) {
  const CivilTime asked_at = parts_.clock.civil();
  LookupResult lookup =
      provider_.find(operation.action_type, operation.operation_key, policy_.call_timeout);
  Verified verified;
  verified.decision =
      parts_.protocol.on_lookup(operation, lookup, asked_at, policy_, provider_.guarantees(),
                                parts_.clock.civil(), parts_.random);
  if (verified.decision.what == Do::claim_and_call) {
    verified.recorded.operation = operation;
    return verified;
  }
  // Why it became unknown says more than why it is still.
  const std::string& code = operation.error_code.empty() ? lookup.error_code : operation.error_code;
  verified.recorded = record(operation, verified.decision,
                             {lookup.external_id, allowed_result(lookup.result), code});
  return verified;
}

Json Turn::params_of(const Operation& operation, const Json& given, const Json& normalised) {
  params_ = params_to_send(given, normalised);
  if (operation.sealed_params.empty()) return params_;
  if (auto kept = kept_params(operation, parts_.sealer)) params_ = std::move(*kept);
  return params_;
}

Turn::Recorded Turn::call(const Operation& claimed, Status prior, const Json& params) {
  params_ = params;
  const CivilTime now = parts_.clock.civil();
  const Guarantees& guarantees = provider_.guarantees();
  const bool may_send = prior == Status::pending
                            ? parts_.protocol.may_send(claimed, policy_, now)
                            : parts_.protocol.may_resend(claimed, policy_, guarantees, now);
  CallOutcome outcome;
  if (may_send) {
    outcome = provider_.call({claimed.operation_key, claimed.attempt_count, claimed.action_type,
                              params, policy_.call_timeout});
  } else {
    outcome.kind = OutcomeKind::not_started;
    outcome.error_code = "lease_lapsed";
  }
  const Decision decision = parts_.protocol.on_outcome(claimed, prior, outcome, policy_, guarantees,
                                                       parts_.clock.civil(), parts_.random);
  return record(claimed, decision,
                {outcome.external_id, allowed_result(outcome.result), outcome.error_code});
}

Turn::Recorded Turn::deliver(const Operation& operation) {
  const auto params = kept_params(operation, parts_.sealer);
  if (!params && params.error().code == ErrorCode::not_found) {
    return {operation, Recorded::How::unrecorded, false, std::string(kKeyMissing)};
  }
  const auto claimed = claim(operation);
  if (!claimed) {
    return {operation, Recorded::How::unrecorded, false,
            std::string(error_row(claimed.error().code).name)};
  }
  if (!*claimed) return read_again(operation);
  const Claim& claim = **claimed;
  if (params) return call(claim.operation, claim.prior_status, *params);
  return record(claim.operation, {Do::escalate, "params_unreadable", {}}, {{}, nullptr, {}});
}

Turn::Recorded Turn::leave_to_submit(const Operation& operation) {
  const Decision decision = parts_.protocol.on_unresolved(
      operation, policy_, provider_.guarantees(), parts_.clock.civil(), parts_.random);
  const bool noted = operation.status == Status::unknown;
  if (noted && decision.what != Do::escalate) {
    return {operation, Recorded::How::written, false, {}};
  }
  return record(operation, decision, {{}, nullptr, operation.error_code});
}

Turn::Recorded Turn::record(const Operation& operation, const Decision& decision,
                            const Learned& learned) {
  for (int attempt = 1;; ++attempt) {
    auto written = write(operation, decision, learned);
    if (written) {
      return {std::move(written->operation), Recorded::How::written, written->duplicate,
              learned.error_code};
    }
    const Error& error = written.error();
    if (error.code == ErrorCode::stale_attempt) return read_again(operation);
    if (error.certainty() == Certainty::definite || attempt == kRecordTries) {
      return {operation, Recorded::How::unrecorded, false, std::string(error_row(error.code).name)};
    }
    parts_.clock.wait_for(kRecordWait * (1 << (attempt - 1)));
  }
}

Result<Turn::Written> Turn::write(const Operation& operation, const Decision& decision,
                                  const Learned& learned) {
  Journal& journal = parts_.journal;
  const CivilTime now = parts_.clock.civil();
  const std::string& key = operation.operation_key;
  const std::int64_t attempt = operation.attempt_count;
  const auto plain = [](Result<Operation> after) -> Result<Written> {
    return std::move(after).map([](Operation&& row) { return Written{std::move(row), false}; });
  };
  switch (decision.what) {
    case Do::record_succeeded:
      return journal
          .mark_succeeded(
              key, attempt,
              {learned.external_id, learned.result, follow_ups(operation, learned, now)}, now,
              parts_.owner)
          .map([](Journal::SuccessRecorded&& row) {
            return Written{std::move(row.operation), row.duplicate};
          });
    case Do::record_failed_final:
      return plain(journal.mark_failed_final(key, attempt, {learned.error_code, learned.result},
                                             now, parts_.owner));
    case Do::record_unknown:
      return plain(journal.mark_unknown(key, attempt, learned.error_code, decision.at.value_or(now),
                                        now, parts_.owner));
    case Do::release:
      return plain(
          journal.release_for_retry(key, attempt, decision.why, decision.at, now, parts_.owner));
    case Do::escalate:
      return plain(journal.escalate(key, attempt, decision.why, now, parts_.owner));
    default:
      break;
  }
  check_failed("a decision that records something", __FILE__, __LINE__);
}

Turn::Recorded Turn::read_again(const Operation& operation) {
  auto current = parts_.journal.load(operation.operation_key);
  if (!current) {
    return {operation, Recorded::How::unrecorded, false,
            std::string(error_row(current.error().code).name)};
  }
  return {std::move(*current), Recorded::How::bounced, false, {}};
}

std::vector<Operation> Turn::follow_ups(const Operation& operation, const Learned& learned,
                                        CivilTime now) const {
  if (policy_.follow_ups.empty()) return {};
  Json params = params_;
  if (params.is_null()) {
    if (auto kept = kept_params(operation, parts_.sealer)) params = std::move(*kept);
  }
  return make_follow_ups(operation, learned.external_id, learned.result, params, now,
                         {parts_.policy, parts_.sealer, parts_.random});
}

// What the policy names, and nothing else: an answer may hold what must never be kept.
Json Turn::allowed_result(const Json& result) const {
  Json kept;
  for (const auto& field : policy_.result_fields) {
    if (const Json* value = find_member(result, field)) kept[field] = *value;
  }
  return kept;
}

}  // namespace onceproof
