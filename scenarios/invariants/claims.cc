#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "scenarios/invariants/checks.h"

namespace onceproof::scenarios {
namespace {

constexpr int kNoEffectStatuses[] = {400, 402, 404, 422};  // fakes' guarantees: no_effect

Violation claim(const std::string& intent, std::string observed, std::string inferred) {
  Violation violation;
  violation.intent = intent;
  violation.observed = std::move(observed);
  violation.inferred = std::move(inferred);
  return violation;
}

std::string said(const Evidence& evidence, const Exchange& exchange) {
  std::string text = fmt::format("{} answered {} at {}", exchange.worker, exchange.answer->status,
                                 evidence.at(*exchange.answered_at));
  if (!exchange.answer->external_id.empty()) {
    text += " with " + escape_terminal(shorten(exchange.answer->external_id, 80));
  }
  return text;
}

// What contradicts one answer `succeeded`; nothing if it is true.
std::optional<Violation> check_success(const Evidence& evidence, const std::string& name,
                                       const IntentEvidence& intent, const Exchange& exchange) {
  const auto& id = exchange.answer->external_id;
  if (intent.effects.empty()) {
    return claim(name, said(evidence, exchange) + ", but the ledger holds no effect of this intent",
                 "success was reported without, or before, the effect");
  }
  if (id.empty()) {
    return claim(name,
                 fmt::format("{} without an external_id; the effect is {}",
                             said(evidence, exchange), intent.effects.front()->id),
                 "the provider's id was not kept, so nobody can find the effect again");
  }
  const auto effect =
      std::ranges::find_if(intent.effects, [&](const auto* e) { return e->id == id; });
  if (effect == intent.effects.end()) {
    return claim(name,
                 fmt::format("{}, but its effect is {}", said(evidence, exchange),
                             intent.effects.front()->id),
                 "the answer belongs to another operation, or was made up");
  }
  if ((*effect)->committed_at > *exchange.answered_at) {
    return claim(name,
                 fmt::format("{}, but the effect was committed only at {}",
                             said(evidence, exchange), evidence.at((*effect)->committed_at)),
                 "success was reported before the provider had committed");
  }
  return std::nullopt;
}

bool was_heard(const fakes::WireEntry& entry, MonotonicTime by) {
  return entry.responded_at && *entry.responded_at <= by;
}

// Could a client know by then that the effect exists?
bool proves_success(const fakes::WireEntry& entry, MonotonicTime by) {
  if (!entry.delivered || !was_heard(entry, by)) return false;
  return entry.disposition == fakes::Disposition::created ||
         entry.disposition == fakes::Disposition::replayed ||
         entry.disposition == fakes::Disposition::found;
}

// Could a client know by then that there is no effect? By the guarantees a status is proof, whoever
// made the reply.
bool proves_failure(const fakes::WireEntry& entry, MonotonicTime by) {
  if (!was_heard(entry, by)) return false;
  if (entry.delivered && entry.disposition == fakes::Disposition::not_found) return true;
  const bool means_no_effect = std::ranges::count(kNoEffectStatuses, entry.status) > 0 &&
                               entry.disposition != fakes::Disposition::mismatch;
  return is_create(entry) && means_no_effect;
}

// A final answer that nothing on the wire supports.
bool is_guess(const IntentEvidence& intent, const std::vector<fakes::WireEntry>& wire,
              const Exchange& exchange) {
  const auto by = *exchange.answered_at;
  const bool success = exchange.answer->status == "succeeded";
  const auto supports = [&](const fakes::WireEntry& entry) {
    return success ? proves_success(entry, by) : proves_failure(entry, by);
  };
  const auto called = std::ranges::any_of(
      intent.creates, [&](const auto* entry) { return entry->received_at <= by; });
  if (!called) return false;  // refused before any call: nobody's guess
  for (const auto* entry : intent.creates) {
    if (supports(*entry)) return false;
  }
  // A lookup may ask in ways that do not show whom it is about.
  return std::ranges::none_of(wire, [&](const fakes::WireEntry& entry) {
    const bool ours =
        entry.business_ref.empty() || entry.business_ref == intent.intent->business_ref;
    return !is_create(entry) && ours && supports(entry);
  });
}

}  // namespace

Violations check_success_is_real(const Evidence& evidence) {
  Violations found;
  for (const auto& [name, intent] : evidence.intents()) {
    for (const auto* exchange : intent.answers) {
      if (exchange->answer->status != "succeeded") continue;
      if (auto violation = check_success(evidence, name, intent, *exchange)) {
        found.push_back(std::move(*violation));
        break;  // the first lie of an intent is enough
      }
    }
  }
  return found;
}

Violations check_failure_is_real(const Evidence& evidence) {
  Violations found;
  for (const auto& [name, intent] : evidence.intents()) {
    if (intent.effects.empty()) continue;
    for (const auto* exchange : intent.answers) {
      if (exchange->answer->status != "failed_final") continue;
      const auto& effect = *intent.effects.front();
      auto violation = claim(name,
                             fmt::format("{}, but effect {} was committed at {} by request {}",
                                         said(evidence, *exchange), effect.id,
                                         evidence.at(effect.committed_at), effect.request),
                             "what could not be known was taken for a failure");
      violation.requests = {effect.request};
      found.push_back(std::move(violation));
      break;
    }
  }
  return found;
}

Violations check_honest_unknown(const Evidence& evidence) {
  Violations found;
  for (const auto& [name, intent] : evidence.intents()) {
    for (const auto* exchange : intent.answers) {
      if (!is_final(*exchange) || !is_guess(intent, evidence.history().wire, *exchange)) continue;
      auto violation = claim(
          name,
          said(evidence, *exchange) +
              ", but by then no reply had said so: " + evidence.describe(*intent.creates.front()),
          "a call without a clear answer was reported as if its outcome were known");
      for (const auto* entry : intent.creates) violation.requests.push_back(entry->number);
      found.push_back(std::move(violation));
      break;
    }
  }
  return found;
}

}  // namespace onceproof::scenarios
