#include <fmt/format.h>

#include <set>

#include "scenarios/scenario_parts.h"

namespace onceproof::scenarios {
namespace {

constexpr std::size_t kMaxSteps = 1'000;
constexpr Milliseconds kLongestWait{60'000};
constexpr int kMaxCalls = 1'000;

const std::vector<std::string> kStatuses{
    "pending",  "in_progress",           "unknown", "succeeded", "failed_final",
    "conflict", "verification_required", "review"};

std::vector<std::string> read_statuses(YamlCursor at, bool may_crash) {
  auto allowed = kStatuses;
  if (may_crash) allowed.emplace_back("crashed");
  std::vector<std::string> statuses;
  if (at.kind() != YamlValue::Kind::list) return {at.one_of(allowed)};
  for (auto& item : at.items()) statuses.push_back(item.one_of(allowed));
  if (statuses.empty()) at.complain("name at least one status, or leave it out");
  return statuses;
}

StepExpectation read_expectation(YamlCursor at, bool may_crash) {
  StepExpectation expect;
  if (auto status = at.find("status")) expect.status = read_statuses(*status, may_crash);
  if (auto calls = at.find("calls")) expect.calls = static_cast<int>(calls->integer(0, kMaxCalls));
  if (auto statuses = at.find("reference")) {
    expect.reference = read_statuses(*statuses, may_crash);
  }
  at.refuse_others();
  return expect;
}

SubmitStep read_submit(YamlCursor at, YamlCursor& step, const KnownNames& known) {
  SubmitStep submit;
  if (at.kind() == YamlValue::Kind::map) {
    submit.intent = at.require("intent").one_of(known.intents);
    if (auto worker = at.find("worker")) submit.worker = worker->one_of(known.workers);
    if (auto with = at.find("with")) {
      submit.changed_params = with->json();
      if (!submit.changed_params.is_object() || submit.changed_params.empty()) {
        with->complain("expected the parameters to change: {amount_minor: 490001}");
      }
    }
    at.refuse_others();
  } else {
    submit.intent = at.one_of(known.intents);
  }
  if (auto expect = step.find("expect")) submit.expect = read_expectation(*expect, true);
  return submit;
}

ParallelStep read_parallel(YamlCursor at, const KnownNames& known) {
  ParallelStep parallel;
  std::set<std::string> workers;
  for (auto& item : at.items()) {
    auto submit = item.require("submit");
    parallel.submits.push_back(read_submit(submit, item, known));
    item.refuse_others();
    if (!workers.insert(parallel.submits.back().worker).second) {
      item.complain(fmt::format(
          "worker '{}' has a submit in this step already; a worker does one thing at a time: "
          "write submit: {{intent: A, worker: w2}}",
          parallel.submits.back().worker));
    }
  }
  if (parallel.submits.size() < 2) at.complain("a parallel step needs two submits or more");
  return parallel;
}

ReconcileStep read_reconcile(YamlCursor at, const KnownNames& known) {
  ReconcileStep reconcile;
  if (at.kind() == YamlValue::Kind::map) {
    if (auto worker = at.find("worker")) reconcile.worker = worker->one_of(known.workers);
    if (auto until = at.find("until_settled")) reconcile.until_settled = until->boolean();
    at.refuse_others();
  } else {
    reconcile.until_settled = at.one_of({"once", "until_settled"}) == "until_settled";
  }
  return reconcile;
}

StatusStep read_status(YamlCursor at, YamlCursor& step, const KnownNames& known) {
  StatusStep status;
  if (at.kind() == YamlValue::Kind::map) {
    status.intent = at.require("intent").one_of(known.intents);
    if (auto worker = at.find("worker")) status.worker = worker->one_of(known.workers);
    at.refuse_others();
  } else {
    status.intent = at.one_of(known.intents);
  }
  if (auto expect = step.find("expect")) status.expect = read_expectation(*expect, false);
  return status;
}

WaitStep read_wait(YamlCursor at) {
  const auto duration = at.duration();
  if (duration > kLongestWait) at.complain("at most " + to_text(kLongestWait));
  return {duration};
}

// One step has one of these members; `expect` goes with submit and status.
Step read_step(YamlCursor at, const KnownNames& known) {
  std::vector<Step> found;
  if (auto submit = at.find("submit")) found.emplace_back(read_submit(*submit, at, known));
  if (auto parallel = at.find("parallel")) found.emplace_back(read_parallel(*parallel, known));
  if (auto reconcile = at.find("reconcile")) found.emplace_back(read_reconcile(*reconcile, known));
  if (auto status = at.find("status")) found.emplace_back(read_status(*status, at, known));
  if (auto wait = at.find("wait")) found.emplace_back(read_wait(*wait));
  if (auto kill = at.find("kill")) found.emplace_back(KillStep{kill->one_of(known.workers)});
  if (auto restart = at.find("restart")) {
    found.emplace_back(RestartStep{restart->one_of(known.workers)});
  }
  at.refuse_others();
  if (found.size() == 1) return found[0];
  at.complain("a step is exactly one of: submit, parallel, reconcile, status, wait, kill, restart");
  return WaitStep{};
}

}  // namespace

std::vector<Step> read_steps(YamlCursor at, const KnownNames& known) {
  std::vector<Step> steps;
  for (auto& item : at.items()) steps.push_back(read_step(item, known));
  if (steps.empty() || steps.size() > kMaxSteps) {
    at.complain(fmt::format("a scenario has 1 to {} steps", kMaxSteps));
  }
  return steps;
}

}  // namespace onceproof::scenarios
