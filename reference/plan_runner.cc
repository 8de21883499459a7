#include "reference/plan_runner.h"

#include <algorithm>
#include <array>

#include "reference/operation_key.h"
#include "reference/registration.h"
#include "reference/request_hash.h"

namespace onceproof {
namespace {

bool is_ended(const Answer& answer) {
  return answer.status == AnswerStatus::succeeded || answer.status == AnswerStatus::failed_final;
}

bool has_status(const std::optional<Answer>& answer, AnswerStatus status) {
  return answer && answer->status == status;
}

// A step that stands: it succeeded and was not undone.
bool has_effect(const StepAnswer& step) {
  return has_status(step.step, AnswerStatus::succeeded) &&
         !has_status(step.undo, AnswerStatus::succeeded);
}

std::string_view describe(const StepAnswer& step) {
  if (!step.step) return "not_begun";
  if (has_status(step.undo, AnswerStatus::succeeded)) return "undone";
  return to_text(step.step->status);
}

// What the executor could not do is in doubt.
Answer unclear(const Error& error) {
  Answer answer;
  answer.error_code = std::string(error_row(error.code).name);
  return answer;
}

// Of what is open, the one that a person must know of first.
std::optional<AnswerStatus> worst_open(const std::vector<StepAnswer>& steps) {
  constexpr std::array order{
      AnswerStatus::conflict, AnswerStatus::review,      AnswerStatus::verification_required,
      AnswerStatus::unknown,  AnswerStatus::in_progress, AnswerStatus::pending};
  for (const auto status : order) {
    const bool there = std::ranges::any_of(steps, [&](const StepAnswer& step) {
      return has_status(step.step, status) || has_status(step.undo, status);
    });
    if (there) return status;
  }
  return std::nullopt;
}

}  // namespace

struct PlanRunner::Run {
  const Plan& plan;
  Operation parent;
  PlanHash hash;
  PlanAnswer answer;
};

Result<PlanAnswer> PlanRunner::submit(const Plan& plan) {
  if (auto checked = check_plan(plan, parts_.policy); !checked) {
    return tl::unexpected(checked.error());
  }
  if (auto checked = check_steps(plan); !checked) return tl::unexpected(checked.error());
  auto opened = find_or_register(plan);
  if (!opened) return tl::unexpected(opened.error());
  auto& [parent, hash] = *opened;
  if (hash.hash != parent.request_hash) {
    PlanAnswer answer;
    answer.status = AnswerStatus::conflict;
    answer.operation_key = parent.operation_key;
    answer.differing_steps = differing_fields(parent.field_digests, hash.steps);
    return answer;
  }
  if (is_terminal(parent.status)) return replay(plan, std::move(parent));
  Run run{plan, std::move(parent), std::move(hash), {}};
  take_steps(run);
  const bool failed = std::ranges::any_of(run.answer.steps, [](const StepAnswer& step) {
    return has_status(step.step, AnswerStatus::failed_final);
  });
  if (failed && !worst_open(run.answer.steps)) undo_steps(run);
  return finish(std::move(run));
}

// Everything that could be refused is, before the first step has an effect.
Result<void> PlanRunner::check_steps(const Plan& plan) const {
  for (const auto& step : plan.steps) {
    auto checked = check_step(step_intent(plan, step, step.params, {}));
    // An undo's parameters are not known yet; what can be said of it is.
    if (checked && step.undo) {
      Intent undo = step_intent(plan, step, Json::object(), {});
      undo.intent_id = undo_intent_id(plan, step);
      undo.action = step.undo->action;
      checked = check_step(undo);
    }
    if (!checked) return checked;
  }
  return {};
}

Result<void> PlanRunner::check_step(const Intent& intent) const {
  const auto provider = parts_.find_provider(intent.action);
  if (!provider) return tl::unexpected(provider.error());
  const auto tool = parts_.policy.find_tool(intent.action);
  if (!tool) return tl::unexpected(tool.error());
  return check_intent(intent, **tool, (*provider)->guarantees()).and_then([&] {
    return check_key(intent.action, **tool, parts_.sealer);
  });
}

Result<PlanRunner::Opened> PlanRunner::find_or_register(const Plan& plan) {
  auto known = parts_.journal.find(plan.tenant, plan.name, plan.intent_id);
  if (!known) return tl::unexpected(known.error());
  if (*known) return compare(plan, std::move(**known));
  Operation parent;
  parent.created_at = parts_.clock.civil();
  parent.operation_key = make_operation_key(parent.created_at, parts_.random);
  parent.tenant = plan.tenant;
  parent.intent_id = plan.intent_id;
  parent.action_type = plan.name;
  auto hash = make_plan_hash(plan, parts_.policy, {}, parent.operation_key);
  if (!hash) return tl::unexpected(hash.error());
  parent.request_hash = hash->hash;
  parent.field_digests = hash->steps;
  auto registered = parts_.journal.register_operation(parent, parts_.owner);
  if (!registered) return tl::unexpected(registered.error());
  if (!registered->created) return compare(plan, std::move(registered->operation));
  return Opened{std::move(registered->operation), std::move(*hash)};
}

// The plan's hash by the rules that its parent was registered with.
Result<PlanRunner::Opened> PlanRunner::compare(const Plan& plan, Operation parent) const {
  return make_plan_hash(plan, parts_.policy, stored_versions(parent), parent.operation_key)
      .map([&](PlanHash&& hash) {
        return Opened{std::move(parent), std::move(hash)};
      });
}

// Once a step was called, there is always an answer.
Answer PlanRunner::submit_step(const Intent& intent) {
  auto answer = executor_.submit(intent);
  return answer ? std::move(*answer) : unclear(answer.error());
}

void PlanRunner::take_steps(Run& run) {
  bool go_on = true;
  for (const auto& step : run.plan.steps) {
    StepAnswer& taken = run.answer.steps.emplace_back(StepAnswer{step.name, {}, {}});
    if (!go_on) continue;
    taken.step = submit_step(
        step_intent(run.plan, step, run.hash.params.at(step.name), run.parent.operation_key));
    go_on =
        run.plan.order == PlanOrder::independent || taken.step->status == AnswerStatus::succeeded;
  }
}

// Backwards, one by one: what was built on a step goes before the step.
void PlanRunner::undo_steps(Run& run) {
  for (std::size_t i = run.plan.steps.size(); i-- > 0;) {
    const PlanStep& step = run.plan.steps[i];
    StepAnswer& taken = run.answer.steps[i];
    if (!step.undo || !has_effect(taken)) continue;
    const auto intent = undo_intent(run.plan, step,
                                    {.external_id = taken.step->external_id,
                                     .operation_key = taken.step->operation_key,
                                     .intent = step_intent_id(run.plan, step),
                                     .tenant = run.plan.tenant,
                                     .params = run.hash.params.at(step.name),
                                     .result = taken.step->result},
                                    run.parent.operation_key);
    if (!intent) {
      taken.undo = Answer{AnswerStatus::failed_final, {}, {}, nullptr, "undo_incomplete", {}};
      continue;
    }
    const auto undone = executor_.submit(*intent);
    if (!undone && undone.error().code == ErrorCode::invalid_argument) {
      // Its tool refuses what the template made of the step's answer, and will do so always.
      taken.undo = Answer{AnswerStatus::failed_final, {}, {}, nullptr, "undo_refused", {}};
      continue;
    }
    taken.undo = undone ? *undone : unclear(undone.error());
    if (!is_ended(*taken.undo)) return;
  }
}

Result<PlanAnswer> PlanRunner::finish(Run run) {
  PlanAnswer& answer = run.answer;
  Operation& parent = run.parent;
  answer.operation_key = parent.operation_key;
  if (const auto open = worst_open(answer.steps)) {
    answer.status = *open;
    return answer;
  }
  const CivilTime now = parts_.clock.civil();
  const bool all = std::ranges::all_of(answer.steps, has_effect);
  Json states = Json::object();
  for (const auto& step : answer.steps) states[step.name] = describe(step);
  const Json result{{"steps", std::move(states)}};
  answer.status = all ? AnswerStatus::succeeded : AnswerStatus::failed_final;
  if (!all) {
    answer.error_code =
        std::ranges::any_of(answer.steps, has_effect) ? "partial_failure" : "step_failed";
  }
  // What could not be recorded is found again by the next submit, from the same steps: their
  // answers are in the journal, and no call is made for them.
  if (all) {
    static_cast<void>(parts_.journal.mark_succeeded(parent.operation_key, parent.attempt_count,
                                                    {parent.operation_key, result, {}}, now,
                                                    parts_.owner));
    return answer;
  }
  const auto claim = parts_.journal.claim(
      {parent.operation_key, parent.attempt_count, parts_.owner, now, now + Milliseconds{1}});
  if (claim) {
    static_cast<void>(
        parts_.journal.mark_failed_final(parent.operation_key, claim->operation.attempt_count,
                                         {answer.error_code, result}, now, parts_.owner));
  }
  return answer;
}

Result<PlanAnswer> PlanRunner::replay(const Plan& plan, Operation parent) {
  PlanAnswer answer;
  answer.status =
      parent.status == Status::succeeded ? AnswerStatus::succeeded : AnswerStatus::failed_final;
  answer.operation_key = std::move(parent.operation_key);
  answer.error_code = std::move(parent.error_code);
  for (const auto& step : plan.steps) {
    Intent intent = step_intent(plan, step, nullptr, {});
    StepAnswer& stored = answer.steps.emplace_back(StepAnswer{step.name, {}, {}});
    auto taken = stored_answer(intent);
    if (!taken) return tl::unexpected(taken.error());
    stored.step = std::move(*taken);
    if (!step.undo) continue;
    intent.intent_id = undo_intent_id(plan, step);
    intent.action = step.undo->action;
    auto undone = stored_answer(intent);
    if (!undone) return tl::unexpected(undone.error());
    stored.undo = std::move(*undone);
  }
  return answer;
}

Result<std::optional<Answer>> PlanRunner::stored_answer(const Intent& intent) {
  auto answer = executor_.status(intent.tenant, intent.action, intent.intent_id);
  if (answer) return std::optional<Answer>(std::move(*answer));
  if (answer.error().code == ErrorCode::not_found) return std::optional<Answer>();
  return tl::unexpected(answer.error());
}

}  // namespace onceproof
