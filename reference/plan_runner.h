// Drives a plan through the executor: step by step, each exactly once, however often the plan is
// submitted and by how many workers. The parent's row is pending while anything is open, and ends
// when every step has. Invariants: nothing is compensated while a step is in doubt; a failure that
// leaves effects behind is recorded as `partial_failure` and never as a success. A plan goes on
// when it is submitted again, with the same intent id: no thread waits for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reference/executor.h"
#include "reference/plan.h"

namespace onceproof {

struct StepAnswer {
  std::string name;
  std::optional<Answer> step;  // absent: not begun
  std::optional<Answer> undo;
};

struct PlanAnswer {
  // succeeded: every step. failed_final: every step has ended, and error_code is "step_failed" (no
  // effect is left: nothing was done, or all was undone) or "partial_failure" (some are). conflict:
  // the plan is known with other steps; differing_steps names them. Else the worst state of a step
  // that is open.
  AnswerStatus status = AnswerStatus::pending;
  std::string operation_key;
  std::string error_code;
  std::vector<std::string> differing_steps;
  std::vector<StepAnswer> steps;  // in the plan's order
};

class PlanRunner {
 public:
  explicit PlanRunner(ExecutorParts parts) : parts_(parts), executor_(std::move(parts)) {}
  // Blocks for at most one lookup and one call per step and per undo. Errors: as Executor::submit,
  // before anything was called; check_plan's.
  Result<PlanAnswer> submit(const Plan& plan);

 private:
  struct Run;  // one submit
  struct Opened {
    Operation parent;
    PlanHash hash;  // of the plan as submitted
  };
  Result<void> check_steps(const Plan& plan) const;
  Result<void> check_step(const Intent& intent) const;
  Result<Opened> find_or_register(const Plan& plan);
  Result<Opened> compare(const Plan& plan, Operation parent) const;
  void take_steps(Run& run);
  void undo_steps(Run& run);
  Result<PlanAnswer> replay(const Plan& plan, Operation parent);
  Result<PlanAnswer> finish(Run run);
  Answer submit_step(const Intent& intent);
  Result<std::optional<Answer>> stored_answer(const Intent& intent);

  ExecutorParts parts_;
  Executor executor_;
};

}  // namespace onceproof
