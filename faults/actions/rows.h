// The rows of action_spec.h's table, a file for each kind of thing that an action does.
#pragma once

#include <vector>

#include "faults/action_spec.h"

namespace onceproof::faults::actions {

std::vector<ActionSpec> connection();
std::vector<ActionSpec> answer();
std::vector<ActionSpec> bytes();
std::vector<ActionSpec> commit();
std::vector<ActionSpec> lookup();
std::vector<ActionSpec> memory();
std::vector<ActionSpec> worker();

// For parameters.
constexpr std::int64_t kMaxTextBytes = 1'000;
constexpr std::int64_t kMaxBodyBytes = 64 << 10;
constexpr std::int64_t kMaxDurationMs = 3'600'000;
// Below 200 there is no complete answer: the client would go on waiting.
constexpr std::int64_t kMinStatus = 200, kMaxStatus = 599;

}  // namespace onceproof::faults::actions
