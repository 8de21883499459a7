#include "scenarios/expectations.h"

#include <fmt/format.h>

#include <algorithm>

namespace onceproof::scenarios {
namespace {

class ExpectationCheck {
 public:
  explicit ExpectationCheck(const Evidence& evidence)
      : evidence_(evidence), history_(evidence.history()) {}

  std::vector<Violation> run() {
    const auto& steps = history_.scenario.steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (const auto* submit = std::get_if<SubmitStep>(&steps[i])) {
        check_step(i, 0, submit->expect);
      } else if (const auto* status = std::get_if<StatusStep>(&steps[i])) {
        check_step(i, 0, status->expect);
      } else if (const auto* parallel = std::get_if<ParallelStep>(&steps[i])) {
        for (std::size_t k = 0; k < parallel->submits.size(); ++k) {
          check_step(i, k, parallel->submits[k].expect);
        }
      }
    }
    check_end();
    return std::move(found_);
  }

 private:
  // A cell that was cut short never came to its later steps.
  const Exchange* exchange_of(std::size_t step, std::size_t index) const {
    for (const auto& exchange : history_.exchanges) {
      if (exchange.step == step && exchange.kind != Exchange::Kind::reconcile && index-- == 0) {
        return &exchange;
      }
    }
    return nullptr;
  }

  void add(const std::string& intent, std::string observed) {
    Violation violation;
    violation.intent = intent;
    violation.observed = std::move(observed);
    violation.inferred = "the scenario describes what a right executor does at this provider";
    found_.push_back(std::move(violation));
  }

  void check_step(std::size_t step, std::size_t index, const StepExpectation& expect) {
    const Exchange* exchange = exchange_of(step, index);
    if (exchange == nullptr) return;
    auto wanted = expect.status;
    if (history_.reference_sut && !expect.reference.empty()) wanted = expect.reference;
    const std::string got = exchange->answer ? exchange->answer->status : "crashed";
    if (!wanted.empty() && std::ranges::find(wanted, got) == wanted.end()) {
      add(exchange->intent, fmt::format("step {} was answered {}; expected {}", step + 1, got,
                                        fmt::join(wanted, " or ")));
    }
    if (!expect.calls) return;
    const int calls = count_calls(*exchange);
    if (calls != *expect.calls) {
      add(exchange->intent, fmt::format("{} calls reached the provider during step {}; expected {}",
                                        calls, step + 1, *expect.calls));
    }
  }

  // The answer; of a worker that died, the next step's question.
  MonotonicTime end_of(const Exchange& exchange) const {
    if (exchange.answered_at) return *exchange.answered_at;
    for (const auto& later : history_.exchanges) {
      if (later.step > exchange.step) return later.sent_at;
    }
    return MonotonicTime::max();
  }

  // Requests to create that arrived between the step's question and its end.
  int count_calls(const Exchange& exchange) const {
    const auto intent = evidence_.intents().find(exchange.intent);
    if (intent == evidence_.intents().end()) return 0;
    return static_cast<int>(std::ranges::count_if(intent->second.creates, [&](const auto* entry) {
      return entry->received_at >= exchange.sent_at && entry->received_at <= end_of(exchange);
    }));
  }

  void check_end() {
    if (history_.sut_failure) return;  // it never came to its end
    const auto by_profile = history_.scenario.expect_for.find(history_.profile);
    const auto& expect = by_profile == history_.scenario.expect_for.end() ? history_.scenario.expect
                                                                          : by_profile->second;
    for (const auto& [name, count] : expect.effects) {
      const auto intent = evidence_.intents().find(name);
      const auto got = intent == evidence_.intents().end() ? 0 : intent->second.effects.size();
      if (got == static_cast<std::size_t>(count)) continue;
      add(name, fmt::format("{} effects in the provider's ledger; expected {}", got, count));
    }
    for (const auto& [name, wanted] : expect.final) {
      const auto intent = evidence_.intents().find(name);
      if (intent == evidence_.intents().end() || intent->second.answers.empty()) continue;
      const auto& got = intent->second.answers.back()->answer->status;
      if (std::ranges::find(wanted, got) != wanted.end()) continue;
      add(name, fmt::format("it ended {}; expected {}", got, fmt::join(wanted, " or ")));
    }
  }

  const Evidence& evidence_;
  const History& history_;
  std::vector<Violation> found_;
};

}  // namespace

std::vector<Violation> check_expectations(const Evidence& evidence) {
  return ExpectationCheck(evidence).run();
}

}  // namespace onceproof::scenarios
