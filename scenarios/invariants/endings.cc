#include <fmt/format.h>

#include "scenarios/invariants/checks.h"

namespace onceproof::scenarios {

// The runner has healed every fault, restarted what was dead and asked again and again; whatever is
// still open then was lost.
Violations check_nothing_lost(const Evidence& evidence) {
  Violations found;
  if (evidence.history().sut_failure) return found;  // it was not driven to its end
  for (const auto& [name, intent] : evidence.intents()) {
    const bool answered = !intent.answers.empty();
    const auto status = answered ? intent.answers.back()->answer->status : std::string();
    if (status == "succeeded" || status == "failed_final" || status == "review") continue;
    Violation violation;
    violation.intent = name;
    violation.observed = answered
                             ? fmt::format("still {} at {}, long after all faults had ended",
                                           status, evidence.at(*intent.answers.back()->answered_at))
                             : "it was never answered";
    violation.inferred = "the operation is stuck: nothing verifies it, frees it or hands it over";
    found.push_back(std::move(violation));
  }
  return found;
}

}  // namespace onceproof::scenarios
