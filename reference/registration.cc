#include "reference/registration.h"

#include <fmt/format.h>

#include "base/text.h"
#include "reference/follow_up.h"
#include "reference/operation_key.h"
#include "reference/request_hash.h"

namespace onceproof {
namespace {

Result<void> check_name(std::string_view what, std::string_view text, std::size_t shortest,
                        std::size_t longest = kLongestName) {
  if (text.size() >= shortest && text.size() <= longest) return {};
  return fail(ErrorCode::invalid_argument, fmt::format("{} has {} bytes; {} to {} are allowed",
                                                       what, text.size(), shortest, longest));
}

}  // namespace

Result<void> check_intent(const Intent& intent, const ToolPolicy& tool,
                          const Guarantees& guarantees) {
  const auto step = longest_step(tool);
  const auto longest = kLongestName - (step == 0 ? 0 : step + 1);  // "/step"
  auto checked = check_name("tenant", intent.tenant, 0)
                     .and_then([&] { return check_name("intent", intent.intent_id, 1, longest); })
                     .and_then([&] { return check_name("action", intent.action, 1); });
  if (!checked) return checked;
  if (!intent.params.is_object()) {
    return fail(ErrorCode::invalid_argument, "params is no JSON object");
  }
  const std::string& reserved = guarantees.reference_field;
  if (!reserved.empty() && intent.params.contains(reserved)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("params.{}: this field carries the operation key to the provider; "
                            "leave it out",
                            reserved));
  }
  if (!intent.operation_key) return {};
  return check_operation_key(*intent.operation_key).and_then([&] {
    return check_name("operation_key", *intent.operation_key, 1, longest);
  });
}

Result<void> check_key(std::string_view action, const ToolPolicy& tool, const Sealer* sealer) {
  if (sealer != nullptr || (!tool.keep_params && tool.follow_ups.empty())) return {};
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("the policy keeps parameters of '{}' encrypted ({}), and there is no key: "
                  "give ONCEPROOF_KEY_FILE",
                  escape_terminal(shorten(action, 80)),
                  tool.keep_params ? "keep_params" : "of what follows it"));
}

Result<Prepared> prepare_operation(const Intent& intent, const ToolPolicy& tool, CivilTime now,
                                   const Sealer* sealer, Random& random) {
  std::string operation_key =
      intent.operation_key ? *intent.operation_key : make_operation_key(now, random);
  auto hash =
      make_request_hash(intent.action, intent.params, tool, tool.hash_version, operation_key);
  if (!hash) return tl::unexpected(hash.error());
  Prepared prepared;
  prepared.params = params_to_send(intent.params, hash->normalised);
  Operation& operation = prepared.operation;
  operation.operation_key = std::move(operation_key);
  operation.tenant = intent.tenant;
  operation.intent_id = intent.intent_id;
  operation.action_type = intent.action;
  operation.request_hash = std::move(hash->hash);
  operation.hash_version = tool.hash_version;
  operation.field_digests = std::move(hash->field_digests);
  operation.parent_key = intent.parent_key;
  operation.created_at = now;
  operation.updated_at = now;
  if (auto checked = check_key(intent.action, tool, sealer); !checked) {
    return tl::unexpected(checked.error());
  }
  if (!tool.keep_params) return prepared;
  operation.sealed_params = sealer->seal(operation.operation_key, prepared.params, random);
  return prepared;
}

}  // namespace onceproof
