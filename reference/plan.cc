#include "reference/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/digest.h"
#include "base/text.h"
#include "reference/canonical_json.h"
#include "reference/request_hash.h"

namespace onceproof {
namespace {

constexpr std::size_t kMostSteps = 100;
constexpr std::string_view kUndo = "/undo";

tl::unexpected<Error> wrong(const Plan& plan, std::string_view what) {
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("plan '{}': {}", escape_terminal(shorten(plan.name, 80)), escape_terminal(what)));
}

Result<void> check_undo(const Plan& plan, const PlanStep& step, const Policy& policy) {
  if (!step.undo) return {};
  if (auto known = policy.find_tool(step.undo->action); !known) {
    return wrong(plan, fmt::format("undo of '{}': {}", step.name, known.error().message));
  }
  if (!step.undo->params.is_object()) {
    return wrong(plan, fmt::format("undo of '{}': params is no JSON object", step.name));
  }
  if (const auto mistake = find_template_mistake(step.undo->params)) {
    return wrong(plan, fmt::format("undo of '{}': {}", step.name, *mistake));
  }
  return {};
}

Result<void> check_step(const Plan& plan, const PlanStep& step, const Policy& policy) {
  if (!is_step_name(step.name)) {
    return wrong(
        plan, fmt::format("step '{}': a step's name is {}", shorten(step.name, 60), kStepNameRule));
  }
  if (std::ranges::count(plan.steps, step.name, &PlanStep::name) > 1) {
    return wrong(plan, fmt::format("two steps '{}' would be one operation", step.name));
  }
  const auto tool = policy.find_tool(step.action);
  if (!tool) return wrong(plan, fmt::format("step '{}': {}", step.name, tool.error().message));
  if (undo_intent_id(plan, step).size() > kLongestName) {
    return wrong(plan, fmt::format("the intent id has {} bytes; with '/{}{}' behind it {} are "
                                   "allowed",
                                   plan.intent_id.size(), step.name, kUndo, kLongestName));
  }
  return check_undo(plan, step, policy);
}

}  // namespace

Result<void> check_plan(const Plan& plan, const Policy& policy) {
  if (plan.name.empty() || plan.name.size() > kLongestName || plan.intent_id.empty()) {
    return wrong(plan, "a plan has a name and an intent id of 1 to 200 bytes");
  }
  if (policy.tools.contains(plan.name)) {
    return wrong(plan,
                 "the policy has a tool of this name; the plan itself calls nothing, so give "
                 "it another one");
  }
  if (plan.steps.empty() || plan.steps.size() > kMostSteps) {
    return wrong(plan, fmt::format("{} steps; 1 to {} are allowed", plan.steps.size(), kMostSteps));
  }
  for (const auto& step : plan.steps) {
    if (auto checked = check_step(plan, step, policy); !checked) return checked;
  }
  return {};
}

PlanVersions stored_versions(const Operation& parent) {
  PlanVersions versions;
  for (const auto& [name, digest] : parent.field_digests) {
    std::from_chars(digest.data(), digest.data() + digest.size(), versions[name]);
  }
  return versions;
}

Result<PlanHash> make_plan_hash(const Plan& plan, const Policy& policy,
                                const PlanVersions& versions, std::string_view salt) {
  PlanHash result;
  Json steps = Json::array();
  for (const auto& step : plan.steps) {
    const auto tool = policy.find_tool(step.action);
    if (!tool) return tl::unexpected(tool.error());
    const auto known = versions.find(step.name);
    const int version = known == versions.end() ? (*tool)->hash_version : known->second;
    const auto hash = make_request_hash(step.action, step.params, **tool, version, salt);
    if (!hash) {
      return fail(hash.error().code, fmt::format("step '{}': {}", step.name, hash.error().message));
    }
    Json identity{{"step", step.name}, {"hash", hash->hash}};
    if (step.undo) {
      identity["undo"] = {{"action", step.undo->action}, {"params", step.undo->params}};
    }
    const auto text = canonical_json(identity);
    if (!text) return tl::unexpected(text.error());
    result.steps[step.name] =
        fmt::format("{}:{}", version, sha256_hex(fmt::format("{}\n{}", salt, *text)).substr(0, 16));
    result.params[step.name] = params_to_send(step.params, hash->normalised);
    steps.push_back(std::move(identity));
  }
  const auto text = canonical_json(
      {{"plan", plan.name}, {"order", static_cast<int>(plan.order)}, {"steps", std::move(steps)}});
  if (!text) return tl::unexpected(text.error());
  result.hash = sha256_hex(*text);
  return result;
}

std::string step_intent_id(const Plan& plan, const PlanStep& step) {
  return fmt::format("{}/{}", plan.intent_id, step.name);
}

std::string undo_intent_id(const Plan& plan, const PlanStep& step) {
  return fmt::format("{}{}", step_intent_id(plan, step), kUndo);
}

Intent step_intent(const Plan& plan, const PlanStep& step, Json params, std::string parent_key) {
  Intent intent;
  intent.tenant = plan.tenant;
  intent.intent_id = step_intent_id(plan, step);
  intent.action = step.action;
  intent.params = std::move(params);
  intent.parent_key = std::move(parent_key);
  return intent;
}

Result<Intent> undo_intent(const Plan& plan, const PlanStep& step, TemplateScope success,
                           std::string parent_key) {
  auto filled = fill_template(step.undo->params, to_json(std::move(success)));
  if (!filled) return tl::unexpected(filled.error());
  Intent intent = step_intent(plan, step, std::move(*filled), std::move(parent_key));
  intent.intent_id = undo_intent_id(plan, step);
  intent.action = step.undo->action;
  return intent;
}

Result<Plan> per_recipient_plan(const Intent& email, std::string_view field) {
  Plan plan{email.tenant, email.intent_id, email.action + ".each", PlanOrder::independent, {}};
  const Json* recipients = find_member(email.params, std::string(field));
  const bool usable = recipients != nullptr && recipients->is_array() && !recipients->empty() &&
                      recipients->size() <= kMostSteps &&
                      std::ranges::all_of(*recipients, [](const Json& r) { return r.is_string(); });
  if (!usable) {
    return wrong(plan, fmt::format("params.{} is not a list of 1 to {} texts", field, kMostSteps));
  }
  for (const auto& recipient : *recipients) {
    PlanStep step{"to-" + sha256_hex(recipient.get<std::string>()).substr(0, 16), email.action,
                  email.params, std::nullopt};
    step.params[std::string(field)] = Json::array({recipient});
    if (std::ranges::count(plan.steps, step.name, &PlanStep::name) == 0) {
      plan.steps.push_back(std::move(step));
    }
  }
  std::ranges::sort(plan.steps, {}, &PlanStep::name);
  return plan;
}

}  // namespace onceproof
