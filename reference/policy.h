// The rules of execution for each action; a deterministic layer, never the model, decides by them.
// Source: guide, "Политика агента". Every field has a default; unknown fields are errors.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/yaml.h"

namespace onceproof {

enum class FieldRule {
  minor_units,     // an integer; a float is an error that names the field
  currency,        // three letters (ISO 4217), upper-cased
  date,            // RFC 3339 full-date
  timestamp,       // RFC 3339, normalised to UTC
  absent_if_null,  // null and missing are the same
  trim,            // outer white space does not count
  ignore,          // volatile: not part of the request's identity
};

// By parameter name. A path reaches further down: "amount.currency", "items[].price_minor".
using FieldRules = std::map<std::string, std::vector<FieldRule>>;

// The last part of a derived key.
bool is_step_name(std::string_view name);
inline constexpr std::string_view kStepNameRule = "1 to 40 of a-z, 0-9, - and _";

// An effect that follows a success: an operation of its own, whose key is <parent's key>/<step>.
struct FollowUpPolicy {
  std::string step;    // "receipt"
  std::string action;  // its own tool
  Json params;         // a template: reference/template.h says what ${...} may name
};

// The value that stands here is what a field has that the policy leaves out.
struct ToolPolicy {
  FieldRules fields;
  // The version of `fields`. Who changes the rules raises it and leaves the old ones in
  // earlier_fields, so that operations which are in the journal are compared as they were hashed.
  int hash_version = 1;
  std::map<int, FieldRules> earlier_fields;
  // Keep the parameters, encrypted, until the operation ends: then a reconciler can send it again
  // without its caller.
  bool keep_params = false;
  std::vector<FollowUpPolicy> follow_ups;
  std::vector<std::string> result_fields;  // kept from the provider's answer; the rest is dropped
  Milliseconds call_timeout{10'000};       // total: connect, send, all of the answer
  Milliseconds lease{30'000};              // longer than call_timeout
  Milliseconds unknown_after{900'000};     // an operation unknown for longer goes to review
  Milliseconds check_initial{1'000};       // first verification after this
  Milliseconds check_max{60'000};          // backoff doubles up to this
  std::int64_t max_attempts = 10;          // calls per intent, then review
  // A caller (queue, offline client, person) may repeat an intent for this long after it ended; its
  // record lives longer.
  Milliseconds retry_horizon{std::chrono::hours{7 * 24}};

  // Errors: unsupported, naming the versions that there are.
  Result<const FieldRules*> find_fields(int version) const;
};

struct Policy {
  std::map<std::string, ToolPolicy> tools;  // by action

  // Errors: not_found, naming the action and the known ones.
  Result<const ToolPolicy*> find_tool(const std::string& action) const;
};

// The tools in their document, as tool_policy's members.
using PolicyTools = std::vector<std::pair<std::string, YamlCursor>>;
// A tool that follows must be there, keep its parameters and end somewhere; the first mistake is
// noted where it stands.
void check_follow_ups(const Policy& policy, PolicyTools& tools);

std::optional<FieldRule> parse_field_rule(std::string_view text);

// {"tool_policy":{"create_payment":{"fields":{"amount_minor":["minor_units"]},
//   "result_fields":["status"],"call_timeout_ms":250,"lease_ms":600,"unknown_after_ms":2000,
//   "check_initial_ms":20,"check_max_ms":200,"max_attempts":10,"retry_horizon_ms":60000}}}
// Each duration may also be written with a unit ("unknown_after":"15m") or in seconds
// ("unknown_after_seconds":900). The guide's own members (operation_key: required,
// retry.reuse_operation_key: true, retry.on_timeout: reconcile_before_retry, terminal_states,
// unknown_after_seconds, on_unresolved: require_human_review) are accepted with the values that
// this executor keeps; another value is an error that says so. Errors: invalid_argument with the
// member's path.
Result<Policy> policy_from_json(const Json& json);

// One tool's members, from a place in a document (policy_file.h reads the rest); the first mistake
// is noted there. The caller ends with refuse_others().
ToolPolicy read_tool_policy(YamlCursor& map);

}  // namespace onceproof
