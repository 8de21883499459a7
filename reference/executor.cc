#include "reference/executor.h"

#include <fmt/format.h>

#include "base/text.h"
#include "reference/registration.h"
#include "reference/request_hash.h"
#include "reference/turn.h"

namespace onceproof {
namespace {

// Each round but the last one ends because another worker was faster; whoever loses three times can
// as well report that.
constexpr int kRounds = 3;

AnswerStatus submitted_status(const Operation& operation) {
  if (operation.review_since && !is_terminal(operation.status)) return AnswerStatus::review;
  switch (operation.status) {
    case Status::pending:
      return AnswerStatus::pending;
    case Status::in_progress:
      return AnswerStatus::in_progress;
    case Status::succeeded:
      return AnswerStatus::succeeded;
    case Status::failed_final:
      return AnswerStatus::failed_final;
    case Status::unknown:
      break;
  }
  return AnswerStatus::verification_required;
}

Answer answer_of(const Operation& operation) {
  Answer answer;
  answer.status = submitted_status(operation);
  answer.operation_key = operation.operation_key;
  answer.external_id = operation.external_id;
  answer.result = operation.result;
  if (operation.status != Status::succeeded) answer.error_code = operation.error_code;
  return answer;
}

Answer answer_of(const Turn::Recorded& recorded) {
  if (recorded.how == Turn::Recorded::How::unrecorded) {
    // Whatever was learned: it is not in the journal, so the next one to ask must verify.
    Answer answer;
    answer.operation_key = recorded.operation.operation_key;
    answer.error_code = recorded.error_code;
    return answer;
  }
  Answer answer = answer_of(recorded.operation);
  // A release keeps no code: the operation is as if it had not been tried. The caller may know why.
  if (answer.status == AnswerStatus::pending) answer.error_code = recorded.error_code;
  if (recorded.duplicate) {
    answer.error_code = "duplicate_effect";
    // "No effect exists" was recorded, and an effect has come to light.
    if (answer.status != AnswerStatus::succeeded)
      answer.status = AnswerStatus::verification_required;
  }
  return answer;
}

}  // namespace

std::string_view to_text(AnswerStatus status) {
  switch (status) {
    case AnswerStatus::pending:
      return "pending";
    case AnswerStatus::in_progress:
      return "in_progress";
    case AnswerStatus::unknown:
      return "unknown";
    case AnswerStatus::succeeded:
      return "succeeded";
    case AnswerStatus::failed_final:
      return "failed_final";
    case AnswerStatus::conflict:
      return "conflict";
    case AnswerStatus::verification_required:
      return "verification_required";
    case AnswerStatus::review:
      return "review";
  }
  return "verification_required";
}

Result<Provider*> ExecutorParts::find_provider(const std::string& action) const {
  const auto found = providers.find(action);
  if (found != providers.end()) return found->second;
  return fail(ErrorCode::not_found,
              fmt::format("no provider for action '{}'", escape_terminal(shorten(action, 80))));
}

Executor::Executor(ExecutorParts parts) : parts_(std::move(parts)) {}

Result<Answer> Executor::submit(const Intent& intent) {
  const auto tool = parts_.policy.find_tool(intent.action);
  if (!tool) return tl::unexpected(tool.error());
  const auto provider = parts_.find_provider(intent.action);
  if (!provider) return tl::unexpected(provider.error());
  const Work work{intent, **tool, **provider};
  if (auto checked = check_intent(intent, work.tool, work.provider.guarantees()); !checked) {
    return tl::unexpected(checked.error());
  }
  auto known = parts_.journal.find(intent.tenant, intent.action, intent.intent_id);
  if (!known) return tl::unexpected(known.error());
  if (*known) return resume(work, std::move(**known));
  return begin(work);
}

// No record: register and claim in one transaction, then call.
Result<Answer> Executor::begin(const Work& work) {
  const Intent& intent = work.intent;
  const CivilTime now = parts_.clock.civil();
  auto prepared = prepare_operation(intent, work.tool, now, parts_.sealer, parts_.random);
  if (!prepared) return tl::unexpected(prepared.error());
  const Operation& fresh = prepared->operation;
  auto registered = parts_.journal.register_and_claim(fresh, parts_.owner, now + work.tool.lease);
  if (!registered && registered.error().code == ErrorCode::already_exists) {
    // The caller's key names another intent. Nothing of that one is shown.
    Answer answer;
    answer.status = AnswerStatus::conflict;
    answer.operation_key = fresh.operation_key;
    answer.error_code = "operation_key_in_use";
    return answer;
  }
  if (!registered) return tl::unexpected(registered.error());
  if (!registered->created) return resume(work, std::move(registered->operation));
  Turn turn(parts_, work.tool, work.provider);
  return answer_of(turn.call(registered->operation, Status::pending, prepared->params));
}

// A record exists: what the core says, until there is an answer.
Result<Answer> Executor::resume(const Work& work, Operation operation) {
  const auto hash = make_request_hash(work.intent.action, work.intent.params, work.tool,
                                      operation.hash_version, operation.operation_key);
  if (!hash) return tl::unexpected(hash.error());
  const bool same_hash = hash->hash == operation.request_hash;
  const Guarantees& guarantees = work.provider.guarantees();
  Turn turn(parts_, work.tool, work.provider);
  Json params;  // made once something is to be done: a repeat of what has ended needs none
  bool verified = false;
  for (int round = 0; round < kRounds; ++round) {
    Decision decision = parts_.protocol.on_submit({operation, same_hash}, work.tool, guarantees,
                                                  parts_.clock.civil());
    if (decision.what == Do::answer_conflict) {
      Answer answer;
      answer.status = AnswerStatus::conflict;
      answer.operation_key = operation.operation_key;
      answer.differing_fields = differing_fields(operation.field_digests, hash->field_digests);
      return answer;
    }
    if (decision.what != Do::verify && decision.what != Do::claim_and_call) break;
    if (auto checked = check_key(work.intent.action, work.tool, parts_.sealer); !checked) {
      return tl::unexpected(checked.error());
    }
    if (params.is_null()) {
      params = turn.params_of(operation, work.intent.params, hash->normalised);
    }
    if (decision.what == Do::verify && !verified) {
      verified = true;
      Turn::Verified found = turn.verify(operation);
      decision = found.decision;
      const bool released =
          decision.what == Do::release && found.recorded.how != Turn::Recorded::How::unrecorded;
      if (decision.what != Do::claim_and_call && !released) return answer_of(found.recorded);
      operation = std::move(found.recorded.operation);
      if (released) continue;  // pending now, or moved on by another worker
    }
    if (decision.what != Do::claim_and_call) break;
    auto claim = turn.claim(operation);
    if (!claim) return tl::unexpected(claim.error());
    if (*claim) {
      return answer_of(turn.call((*claim)->operation, (*claim)->prior_status, params));
    }
    auto current = parts_.journal.load(operation.operation_key);
    if (!current) return tl::unexpected(current.error());
    operation = std::move(*current);
  }
  return answer_of(operation);
}

Result<Answer> Executor::status(std::string_view tenant, std::string_view action,
                                std::string_view intent_id) {
  auto known = parts_.journal.find(tenant, action, intent_id);
  if (!known) return tl::unexpected(known.error());
  if (!*known) {
    return fail(ErrorCode::not_found, fmt::format("no intent '{}' of action '{}' is registered",
                                                  escape_terminal(shorten(intent_id, 80)),
                                                  escape_terminal(shorten(action, 80))));
  }
  Answer answer = answer_of(**known);
  if (answer.status == AnswerStatus::verification_required) answer.status = AnswerStatus::unknown;
  return answer;
}

}  // namespace onceproof
