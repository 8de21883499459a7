#include "scenarios/playable.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace onceproof::scenarios {
namespace {

// Collects the first mistake while it walks the steps.
class PlayableCheck {
 public:
  explicit PlayableCheck(const Scenario& scenario) : scenario_(scenario) {
    for (int i = 1; i <= scenario.workers; ++i) workers_.insert(fmt::format("w{}", i));
  }

  Result<void> run() {
    for (const auto& spec : scenario_.faults) {
      if (spec.intent) check_intent(*spec.intent, "fault " + spec.fault.name);
    }
    for (std::size_t i = 0; i < scenario_.steps.size(); ++i) {
      where_ = fmt::format("step {}", i + 1);
      std::visit([this](const auto& step) { check(step); }, scenario_.steps[i]);
    }
    if (mistake_.empty()) return {};
    return fail(ErrorCode::invalid_argument,
                fmt::format("scenario {}: {}", scenario_.name, mistake_));
  }

 private:
  void complain(std::string what) {
    if (mistake_.empty()) mistake_ = std::move(what);
  }
  void check_intent(const std::string& intent, const std::string& where) {
    if (!scenario_.intents.contains(intent)) complain(where + ": there is no intent " + intent);
  }
  void check_worker(const std::string& worker) {
    if (workers_.contains(worker)) return;
    complain(fmt::format("{}: there is no worker {}; the scenario has {} of them", where_, worker,
                         scenario_.workers));
  }
  // Whichever parameters come first are the intent's: a change must come second.
  void check_submit(const SubmitStep& step, const std::set<std::string>& known) {
    check_intent(step.intent, where_);
    check_worker(step.worker);
    if (step.changed_params.is_object() && !known.contains(step.intent)) {
      complain(
          fmt::format("{}: intent {} is submitted with other parameters before it was "
                      "submitted as it is",
                      where_, step.intent));
    }
  }

  void check(const SubmitStep& step) {
    check_submit(step, submitted_);
    submitted_.insert(step.intent);
  }
  void check(const ParallelStep& step) {
    const auto before = submitted_;
    std::set<std::string> busy;
    for (const auto& one : step.submits) {
      check_submit(one, before);
      submitted_.insert(one.intent);
      if (!busy.insert(one.worker).second) {
        complain(fmt::format("{}: worker {} is to do two things at one time", where_, one.worker));
      }
    }
  }
  void check(const ReconcileStep& step) { check_worker(step.worker); }
  void check(const StatusStep& step) {
    check_intent(step.intent, where_);
    check_worker(step.worker);
  }
  void check(const WaitStep&) {}
  void check(const KillStep& step) { check_worker(step.worker); }
  void check(const RestartStep& step) { check_worker(step.worker); }

  const Scenario& scenario_;
  std::set<std::string> workers_;
  std::set<std::string> submitted_;
  std::string where_;
  std::string mistake_;
};

template <typename Kind>
bool has_step(const Scenario& scenario) {
  return std::ranges::any_of(scenario.steps,
                             [](const Step& step) { return std::holds_alternative<Kind>(step); });
}

}  // namespace

Result<void> check_playable(const Scenario& scenario) {
  return PlayableCheck(scenario).run();
}

std::vector<std::string_view> needed_capabilities(const Scenario& scenario) {
  std::vector<std::string_view> needed{"submit"};
  if (has_step<ReconcileStep>(scenario)) needed.emplace_back("reconcile");
  if (has_step<StatusStep>(scenario)) needed.emplace_back("status");
  return needed;
}

}  // namespace onceproof::scenarios
