// What a scenario made by code must obey, too (scenario_file.h checks more, with places): every
// name it uses is known, and no step changes an intent before a step has submitted it as it is.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "scenarios/scenario.h"

namespace onceproof::scenarios {

// Errors: invalid_argument, naming the step.
Result<void> check_playable(const Scenario& scenario);
// "submit", and what the steps need beside it: a SUT that lacks one makes the cell unsupported.
std::vector<std::string_view> needed_capabilities(const Scenario& scenario);

}  // namespace onceproof::scenarios
