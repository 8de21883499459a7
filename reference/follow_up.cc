#include "reference/follow_up.h"

#include <algorithm>

#include "reference/registration.h"
#include "reference/template.h"

namespace onceproof {
namespace {

Result<Operation> try_step(Intent intent, const FollowUpPolicy& step, const Json& scope,
                           CivilTime now, const FollowUpParts& parts) {
  const auto tool = parts.policy.find_tool(step.action);
  if (!tool) return tl::unexpected(tool.error());
  auto params = fill_template(step.params, scope);
  if (!params) return tl::unexpected(params.error());
  intent.params = std::move(*params);
  return prepare_operation(intent, **tool, now, parts.sealer, parts.random)
      .map([](Prepared&& prepared) { return std::move(prepared.operation); });
}

Operation make_step(const Operation& parent, const FollowUpPolicy& step, const Json& scope,
                    CivilTime now, const FollowUpParts& parts) {
  const std::string key = parent.operation_key + "/" + step.step;
  Intent intent{parent.tenant,       parent.intent_id + "/" + step.step, step.action, {}, key,
                parent.operation_key};
  auto made = try_step(std::move(intent), step, scope, now, parts);
  Operation operation;
  if (made) {
    operation = std::move(*made);
  } else {
    operation.operation_key = key;
    operation.parent_key = parent.operation_key;
    operation.error_code = made.error().message;
  }
  return operation;
}

}  // namespace

std::vector<Operation> make_follow_ups(const Operation& parent, const std::string& external_id,
                                       const Json& result, const Json& params, CivilTime now,
                                       const FollowUpParts& parts) {
  std::vector<Operation> made;
  const auto tool = parts.policy.find_tool(parent.action_type);
  if (!tool) return made;
  const Json scope = to_json({.external_id = external_id,
                              .operation_key = parent.operation_key,
                              .intent = parent.intent_id,
                              .tenant = parent.tenant,
                              .params = params,
                              .result = result});
  for (const auto& step : (*tool)->follow_ups) {
    made.push_back(make_step(parent, step, scope, now, parts));
  }
  return made;
}

std::size_t longest_step(const ToolPolicy& tool) {
  std::size_t longest = 0;
  for (const auto& step : tool.follow_ups) longest = std::max(longest, step.step.size());
  return longest;
}

}  // namespace onceproof
