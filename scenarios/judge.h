// The judge: a pure function from what was observed to a verdict. Knows nothing of how the SUT
// works. Every invariant is checked in every cell, whatever the scenario expects; then the
// scenario's own expectations. A violation outranks whatever made the cell inconclusive.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "scenarios/evidence.h"
#include "scenarios/history.h"
#include "scenarios/verdict.h"

namespace onceproof::scenarios {

struct Invariant {
  std::string_view id;        // "one-effect"
  std::string_view sentence;  // "an intent never has more than one effect"
  std::string_view remedy;    // what makes it hold, with the guide's step
  std::vector<Violation> (*check)(const Evidence& evidence);
};

// In the order in which reports list them. The last is "expectation": the scenario's own demands.
std::span<const Invariant> invariants();
Verdict judge(const History& history);

}  // namespace onceproof::scenarios
