#include "scenarios/services.h"

#include <fmt/format.h>

namespace onceproof::scenarios {
namespace {

constexpr ActionRow kActions[] = {
    {"create_payment", "payments", "order_id",
     R"({"fields":{"amount_minor":["minor_units"],"currency":["currency"]},)"
     R"("result_fields":["status","amount_minor","currency"]})"},
};

}  // namespace

std::span<const ActionRow> actions() {
  return kActions;
}

Result<const ActionRow*> find_action(std::string_view action) {
  std::string known;
  for (const auto& row : kActions) {
    if (row.action == action) return &row;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.action);
  }
  return fail(ErrorCode::not_found,
              fmt::format("unknown action '{}'; there are: {}", action, known));
}

std::string business_ref(const ActionRow& row, const Json& params) {
  const Json* value = find_member(params, row.business_ref_field);
  if (value == nullptr) return {};
  return value->is_string() ? value->get<std::string>() : to_line(*value);
}

}  // namespace onceproof::scenarios
