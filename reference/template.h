// Parameters of a follow-up, with places to fill: "Payment ${external_id} of
// ${params.amount_minor}". Pure. A text that is one place alone keeps the type of what it is filled
// with; in a longer text the value is written as JSON writes it, texts without quotes. There is no
// escape, and no expression.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/error.h"
#include "base/json.h"

namespace onceproof {

// What ${...} may name: external_id, operation_key, intent, tenant, params.<path>, result.<path>.
// nullopt: every place of `value` is one of them; else what is wrong.
std::optional<std::string> find_template_mistake(const Json& value);
bool template_uses_params(const Json& value);
// The members of the result that it names: "status" of ${result.status}, sorted.
std::set<std::string> template_result_fields(const Json& value);

// What a place may be filled with: of the success that the effect follows.
struct TemplateScope {
  std::string external_id, operation_key, intent, tenant;
  Json params, result;  // null: none is at hand
};
Json to_json(TemplateScope scope);

// `scope` is an object with those members. Errors: not_found, naming the place, never a value.
Result<Json> fill_template(const Json& value, const Json& scope);

}  // namespace onceproof
