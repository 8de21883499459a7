// One decision that takes several effects: a booking and its payment, one e-mail to many people.
// Each step is an operation of its own, with an intent id derived from the plan's
// ("order-817/charge"), so that no repeat of the plan repeats a step that is done. Pure: values and
// their identity; reference/plan_runner.h drives them.
// Source: guide, "Пакет и несколько шагов"; docs/reference.md, Plans.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "reference/operation.h"
#include "reference/policy.h"
#include "reference/template.h"

namespace onceproof {

struct PlanUndo {
  std::string action;  // "refund_payment"
  Json params;         // a template over the step's success: reference/template.h
};

struct PlanStep {
  std::string name;  // 1..40 of a-z, 0-9, - and _; once per plan
  std::string action;
  Json params;
  std::optional<PlanUndo> undo;  // absent: what this step did stays, also if another one fails
};

enum class PlanOrder {
  one_by_one,   // a step begins when the one before has succeeded
  independent,  // each step on its own: one that fails or hangs keeps no other one back
};

struct Plan {
  std::string tenant;
  std::string intent_id;
  std::string name;  // "book_trip": the parent's action; no tool of the policy has this name
  PlanOrder order = PlanOrder::one_by_one;
  std::vector<PlanStep> steps;
};

// Names, number of steps, templates; everything that can be refused before anything is done.
// Errors: invalid_argument, naming the step.
Result<void> check_plan(const Plan& plan, const Policy& policy);

// By step: the version of its tool's field rules; a step that is not named has the tool's present
// one. A plan that is known is compared by the versions that it was registered with.
using PlanVersions = std::map<std::string, int>;
PlanVersions stored_versions(const Operation& parent);

struct PlanHash {
  std::string hash;                          // of the order and of every step's meaning
  std::map<std::string, std::string> steps;  // as Operation::field_digests: "<version>:<digest>"
  std::map<std::string, Json> params;        // as they are sent
};
// Errors: those of make_request_hash, naming the step; not_found (a step's action has no tool).
Result<PlanHash> make_plan_hash(const Plan& plan, const Policy& policy,
                                const PlanVersions& versions, std::string_view salt);

// "order-817/charge", "order-817/charge/undo"
std::string step_intent_id(const Plan& plan, const PlanStep& step);
std::string undo_intent_id(const Plan& plan, const PlanStep& step);
// The child operation's intent; `parent_key` is the plan's operation key.
Intent step_intent(const Plan& plan, const PlanStep& step, Json params, std::string parent_key);
// `success` is the step's. Errors: not_found (the template names what it does not have).
Result<Intent> undo_intent(const Plan& plan, const PlanStep& step, TemplateScope success,
                           std::string parent_key);

// An e-mail to many as one operation per recipient, so that a retry never repeats the good ones:
// independent steps, named by a digest of the address, in an order that does not depend on the
// list's. `field` is the member of params that lists the recipients. An address that stands there
// twice gets one e-mail. Errors: invalid_argument (no list of 1 to 100 texts).
Result<Plan> per_recipient_plan(const Intent& email, std::string_view field = "to");

}  // namespace onceproof
