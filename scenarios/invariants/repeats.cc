#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "scenarios/invariants/checks.h"

namespace onceproof::scenarios {
namespace {

// Far above what a policy allows (the reference's cap is 10 calls) and below a storm.
constexpr std::size_t kMostCreates = 25;
constexpr std::size_t kMostLookups = 250;

// The first final answer to an unchanged submit or a status; nullptr: none.
const Exchange* first_final(const IntentEvidence& intent) {
  const auto found =
      std::ranges::find_if(intent.answers, [](const auto* e) { return is_final(*e); });
  return found == intent.answers.end() ? nullptr : *found;
}

const fakes::WireEntry* call_during(const IntentEvidence& intent, const Exchange& exchange) {
  for (const auto* entry : intent.creates) {
    if (entry->worker == exchange.worker && entry->received_at >= exchange.sent_at &&
        entry->received_at <= *exchange.answered_at) {
      return entry;
    }
  }
  return nullptr;
}

std::string difference(const Answer& first, const Answer& again) {
  if (first.status != again.status) {
    return fmt::format("{} became {}", first.status, again.status);
  }
  if (first.external_id != again.external_id) {
    return fmt::format("external_id '{}' became '{}'", escape_terminal(first.external_id),
                       escape_terminal(again.external_id));
  }
  const bool both = !first.result.is_null() && !again.result.is_null();
  if (both && first.result != again.result) {
    return fmt::format("result {} became {}", escape_terminal(shorten(to_line(first.result), 120)),
                       escape_terminal(shorten(to_line(again.result), 120)));
  }
  return {};
}

// The client of this call can know its outcome: it got the true answer, or one that is proof.
bool is_clear(const fakes::WireEntry& entry) {
  if (entry.delivered) {
    return entry.disposition != fakes::Disposition::in_flight &&
           entry.disposition != fakes::Disposition::failed;
  }
  return entry.status == 400 || entry.status == 402 || entry.status == 404 || entry.status == 422;
}

// A lookup that could have seen the effect of `call` if there was one, and saw none.
bool was_looked_for(const Evidence& evidence, const IntentEvidence& intent,
                    const fakes::WireEntry& call, const fakes::WireEntry& next) {
  const auto visible = call.received_at + evidence.history().provider.index_delay;
  return std::ranges::any_of(evidence.history().wire, [&](const fakes::WireEntry& entry) {
    const bool ours =
        entry.business_ref.empty() || entry.business_ref == intent.intent->business_ref;
    return ours && entry.delivered && entry.disposition == fakes::Disposition::not_found &&
           entry.received_at >= visible && entry.received_at <= next.received_at;
  });
}

}  // namespace

Violations check_replay_returns_result(const Evidence& evidence) {
  Violations found;
  for (const auto& [name, intent] : evidence.intents()) {
    const Exchange* first = first_final(intent);
    if (first == nullptr) continue;
    for (const auto* again : intent.submits) {
      if (!again->answer || again->sent_at < *first->answered_at) continue;
      Violation violation;
      violation.intent = name;
      const auto changed = difference(*first->answer, *again->answer);
      const auto* call = intent.looks_alike ? nullptr : call_during(intent, *again);
      if (!changed.empty()) {
        violation.observed =
            fmt::format("answered at {}, repeated at {}: {}", evidence.at(*first->answered_at),
                        evidence.at(again->sent_at), changed);
        violation.inferred = "the result is not kept, or not read back before acting";
      } else if (call != nullptr) {
        violation.observed =
            fmt::format("answered {} at {}; its repeat at {} called the provider again: {}",
                        first->answer->status, evidence.at(*first->answered_at),
                        evidence.at(again->sent_at), evidence.describe(*call));
        violation.inferred = "the journal is not read before the call";
        violation.requests = {call->number};
      } else {
        continue;
      }
      found.push_back(std::move(violation));
      break;
    }
  }
  return found;
}

Violations check_no_blind_repeat(const Evidence& evidence) {
  Violations found;
  if (evidence.history().provider.key_dedup) return found;
  for (const auto& [name, intent] : evidence.intents()) {
    if (intent.looks_alike) continue;  // no telling whose second call it is
    for (std::size_t i = 0; i + 1 < intent.creates.size(); ++i) {
      const auto& call = *intent.creates[i];
      const auto& next = *intent.creates[i + 1];
      if (is_clear(call) || was_looked_for(evidence, intent, call, next)) continue;
      Violation violation;
      violation.intent = name;
      violation.observed = fmt::format(
          "{}, then {}; between them nothing proved that there is no "
          "effect",
          evidence.describe(call), evidence.describe(next));
      violation.inferred =
          "a call without a clear answer was repeated at a provider that does not "
          "recognise repeats";
      violation.requests = {call.number, next.number};
      found.push_back(std::move(violation));
      break;
    }
  }
  return found;
}

Violations check_single_flight(const Evidence& evidence) {
  Violations found;
  for (const auto& [name, intent] : evidence.intents()) {
    if (intent.looks_alike) continue;
    for (std::size_t i = 0; i + 1 < intent.creates.size(); ++i) {
      const auto& call = *intent.creates[i];
      const auto& next = *intent.creates[i + 1];
      // A client that gave up is no longer in flight, and when it did is not seen: only what was
      // answered well within the time-out is sure.
      const auto surely_waiting = call.received_at + evidence.history().times.call_timeout / 2;
      if (!call.responded_at || next.received_at >= std::min(*call.responded_at, surely_waiting)) {
        continue;
      }
      Violation violation;
      violation.intent = name;
      violation.observed = fmt::format("{} was still waiting for its reply when {} arrived",
                                       evidence.describe(call), evidence.describe(next));
      violation.inferred = "no claim keeps two workers from calling at one time";
      violation.requests = {call.number, next.number};
      found.push_back(std::move(violation));
      break;
    }
  }
  return found;
}

Violations check_bounded_calls(const Evidence& evidence) {
  Violations found;
  for (const auto& [name, intent] : evidence.intents()) {
    if (intent.creates.size() <= kMostCreates && intent.lookups.size() <= kMostLookups) continue;
    Violation violation;
    violation.intent = name;
    violation.observed =
        fmt::format("{} calls and {} lookups for one intent; at most {} and {} are tolerated",
                    intent.creates.size(), intent.lookups.size(), kMostCreates, kMostLookups);
    violation.inferred = "retries have no cap or no backoff";
    found.push_back(std::move(violation));
  }
  return found;
}

}  // namespace onceproof::scenarios
