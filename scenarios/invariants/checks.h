// The checks of the invariants, one function each; judge.cc lists them with their sentences.
// Each is pure, looks at every intent, and returns what contradicts it, with the facts.
#pragma once

#include <vector>

#include "scenarios/evidence.h"
#include "scenarios/verdict.h"

namespace onceproof::scenarios {

using Violations = std::vector<Violation>;

// effects.cc: what stands in the provider's ledger
Violations check_one_effect(const Evidence& evidence);
Violations check_effect_matches(const Evidence& evidence);
Violations check_distinct_intents(const Evidence& evidence);
// claims.cc: what the SUT said against what was so
Violations check_success_is_real(const Evidence& evidence);
Violations check_failure_is_real(const Evidence& evidence);
Violations check_honest_unknown(const Evidence& evidence);
// keys.cc: what names an intent
Violations check_conflict_before_call(const Evidence& evidence);
Violations check_stable_key(const Evidence& evidence);
// repeats.cc: when a call may be made again
Violations check_replay_returns_result(const Evidence& evidence);
Violations check_no_blind_repeat(const Evidence& evidence);
Violations check_single_flight(const Evidence& evidence);
Violations check_bounded_calls(const Evidence& evidence);
// endings.cc: how an intent ends
Violations check_nothing_lost(const Evidence& evidence);

}  // namespace onceproof::scenarios
