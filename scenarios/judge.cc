#include "scenarios/judge.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "scenarios/expectations.h"
#include "scenarios/invariants/checks.h"

namespace onceproof::scenarios {
namespace {

constexpr std::array kInvariants{
    Invariant{"one-effect", "an intent never has more than one effect",
              "send the same operation key on every attempt, and after an unclear outcome verify "
              "before you call again (guide, steps 1, 5, 7)",
              check_one_effect},
    Invariant{"effect-matches", "the effect's parameters are those of the intent",
              "keep the request hash with the key and send what was hashed (guide, step 2)",
              check_effect_matches},
    Invariant{
        "success-is-real",
        "reported succeeded means exactly one effect, and its id is the reported one",
        "record success only from a complete, matching answer of the provider (guide, step 6)",
        check_success_is_real},
    Invariant{"failure-is-real", "reported failed_final means no effect, now or later",
              "a time-out, a reset or a 5xx is unknown, not failed; only a proven refusal is final "
              "(guide, step 6)",
              check_failure_is_real},
    Invariant{"honest-unknown",
              "an ambiguous outcome is never reported as failed or succeeded before it is verified",
              "record unknown, answer verification_required, and reconcile (guide, steps 6 and 7)",
              check_honest_unknown},
    Invariant{"conflict-before-call",
              "the same key with other parameters is a conflict, and nothing reaches the provider",
              "compare the request hash under the key before any call (guide, steps 2 and 4)",
              check_conflict_before_call},
    Invariant{"stable-key",
              "every attempt of one intent carries one key; different intents never share one",
              "make the key once, when the intent is registered, and read it back from the journal "
              "on every attempt (guide, step 1)",
              check_stable_key},
    Invariant{"replay-returns-result",
              "a repeat after the end returns the same result and makes no call",
              "keep the result in the journal and read it before you act (guide, step 4)",
              check_replay_returns_result},
    Invariant{"no-blind-repeat",
              "after an ambiguous outcome, at a provider without live key dedup, no second call "
              "before absence was proved",
              "look the effect up first; where nothing can be looked up, hand it to a person "
              "(guide, step 7)",
              check_no_blind_repeat},
    Invariant{"single-flight", "never two calls in flight for one intent at one time",
              "claim the operation in one atomic update before the call (guide, step 4)",
              check_single_flight},
    Invariant{"nothing-lost",
              "an acknowledged intent always ends: terminal, or in review, once faults stop",
              "register before the call, verify what a dead worker left, and escalate in the end "
              "(guide, steps 4 and 7)",
              check_nothing_lost},
    Invariant{"distinct-intents", "two intents that look alike both get their effect",
              "name what the user decided, not what it looks like: the key belongs to the intent "
              "(guide, step 1)",
              check_distinct_intents},
    Invariant{"bounded-calls", "calls and lookups per intent stay under a cap",
              "cap the attempts and back off between checks (guide, step 7)", check_bounded_calls},
    Invariant{"expectation", "what the scenario itself demands", "see the scenario's steps",
              check_expectations},
};

// Why the cell proves nothing, although nothing is wrong; empty: it proves something.
std::string find_doubt(const History& history) {
  if (history.sut_failure) return *history.sut_failure;
  for (const auto& record : history.faults) {
    if (record.fault.optional || !record.firings.empty()) continue;
    faults::Fault nameless = record.fault;
    nameless.name.clear();
    return fmt::format("fault {} was armed but never fired ({}); its point was passed {} times",
                       escape_terminal(record.fault.name), faults::to_text(nameless),
                       record.visits);
  }
  if (!history.wire.empty() && history.wire.front().number != 1) {
    return fmt::format("the SUT made more than {} requests, more than are kept",
                       fakes::WireLog::kKept);
  }
  return {};
}

}  // namespace

std::span<const Invariant> invariants() {
  return kInvariants;
}

Verdict judge(const History& history) {
  const Evidence evidence(history);
  Verdict verdict;
  for (const auto& invariant : invariants()) {
    for (auto& violation : invariant.check(evidence)) {
      violation.invariant = invariant.id;
      violation.remedy = invariant.remedy;
      verdict.violations.push_back(std::move(violation));
    }
  }
  verdict.reason = find_doubt(history);
  if (!verdict.violations.empty()) {
    verdict.kind = VerdictKind::violated;
  } else if (!verdict.reason.empty()) {
    verdict.kind = VerdictKind::inconclusive;
  }
  return verdict;
}

}  // namespace onceproof::scenarios
