// What a scenario itself demands, beside the invariants: answers of its steps, calls during them,
// and how its intents end.
#pragma once

#include <vector>

#include "scenarios/evidence.h"
#include "scenarios/verdict.h"

namespace onceproof::scenarios {

std::vector<Violation> check_expectations(const Evidence& evidence);

}  // namespace onceproof::scenarios
