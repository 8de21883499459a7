// What the harness knows of each service's actions: where they go, what an effect is about, how
// fields are compared. One table; a new fake service is a new row.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace onceproof::scenarios {

struct ActionRow {
  std::string_view action;              // "create_payment"
  std::string_view service;             // "payments"
  std::string_view business_ref_field;  // "order_id": effects are counted by its value
  std::string_view tool_policy;  // JSON: fields and result_fields of the policy that SUTs are told
};

std::span<const ActionRow> actions();
// Errors: not_found, listing the actions.
Result<const ActionRow*> find_action(std::string_view action);
// The value of the business reference field as text; empty if it is missing.
std::string business_ref(const ActionRow& row, const Json& params);

}  // namespace onceproof::scenarios
