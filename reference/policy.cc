#include "reference/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "reference/settings.h"
#include "reference/template.h"

namespace onceproof {
namespace {

struct RuleName {
  FieldRule rule;
  std::string_view name;
};
constexpr std::array kRuleNames{
    RuleName{FieldRule::minor_units, "minor_units"},
    RuleName{FieldRule::currency, "currency"},
    RuleName{FieldRule::date, "date"},
    RuleName{FieldRule::timestamp, "timestamp"},
    RuleName{FieldRule::absent_if_null, "absent_if_null"},
    RuleName{FieldRule::trim, "trim"},
    RuleName{FieldRule::ignore, "ignore"},
};

constexpr Milliseconds kShortest{1};
constexpr Milliseconds kLongest{std::chrono::hours{24 * 3650}};
constexpr std::int64_t kMostAttempts = 1000;
constexpr std::int64_t kMostVersions = 1'000'000;

std::vector<std::string> rule_names() {
  std::vector<std::string> names;
  for (const auto& row : kRuleNames) names.emplace_back(row.name);
  return names;
}

// The guide's rules that are no choice: they may be written down, with the one value that this
// executor keeps.
void read_fixed(YamlCursor& map, std::string_view member, const std::string& only,
                std::string_view why) {
  auto found = map.find(member);
  if (!found) return;
  const std::string value = found->text();
  if (!found->failed() && value != only) {
    found->complain(fmt::format("'{}' is not offered; write '{}': {}",
                                escape_terminal(shorten(value, 60)), only, why));
  }
}

void read_retry(YamlCursor map) {
  read_fixed(map, "reuse_operation_key", "true", "another key would be another payment");
  read_fixed(map, "on_timeout", "reconcile_before_retry",
             "after a time-out the effect may exist, so it is looked for first");
  map.refuse_others();
}

void read_terminal_states(YamlCursor list) {
  auto states = list.texts();
  std::ranges::sort(states);
  if (!list.failed() && states != std::vector<std::string>{"failed_final", "succeeded"}) {
    list.complain("there are exactly two terminal states: [succeeded, failed_final]");
  }
}

FieldRules read_fields(YamlCursor map) {
  FieldRules fields;
  for (auto& [name, rules] : map.members()) {
    auto& into = fields[name];
    auto items = rules.kind() == YamlValue::Kind::list ? rules.items() : std::vector{rules};
    for (auto& item : items) {
      if (const auto rule = parse_field_rule(item.one_of(rule_names()))) into.push_back(*rule);
    }
    const auto has = [&](FieldRule rule) { return std::ranges::count(into, rule) > 0; };
    const auto types = has(FieldRule::minor_units) + has(FieldRule::currency) +
                       has(FieldRule::date) + has(FieldRule::timestamp);
    if (types > 1) rules.complain("minor_units, currency, date and timestamp exclude each other");
    if (has(FieldRule::ignore) && into.size() > 1) {
      rules.complain("an ignored field needs no other rule");
    }
    if (name.ends_with("[]") && (has(FieldRule::ignore) || has(FieldRule::absent_if_null))) {
      rules.complain("an item of a list cannot be absent; name the list, or a member of its items");
    }
  }
  return fields;
}

void read_versions(YamlCursor& map, ToolPolicy& tool) {
  if (auto version = map.find("hash_version")) {
    tool.hash_version = static_cast<int>(version->integer(1, kMostVersions));
  }
  auto earlier = map.find("earlier_fields");
  if (!earlier) return;
  for (auto& [name, fields] : earlier->members()) {
    int version = 0;
    const auto* const end = name.data() + name.size();
    const bool number = std::from_chars(name.data(), end, version).ptr == end;
    if (!number || version < 1 || version >= tool.hash_version) {
      fields.complain(fmt::format("'{}' is no earlier version than hash_version ({})",
                                  escape_terminal(shorten(name, 20)), tool.hash_version));
      return;
    }
    tool.earlier_fields[version] =
        fields.kind() == YamlValue::Kind::null ? FieldRules{} : read_fields(fields);
  }
}

void read_follow_ups(YamlCursor list, ToolPolicy& tool) {
  for (auto& map : list.items()) {
    FollowUpPolicy follow_up;
    auto step = map.require("step");
    follow_up.step = step.text();
    if (!step.failed() && !is_step_name(follow_up.step)) {
      step.complain(fmt::format("a step's name is {}", kStepNameRule));
    }
    if (std::ranges::count(tool.follow_ups, follow_up.step, &FollowUpPolicy::step) > 0) {
      step.complain("two steps of one name would be one operation");
    }
    follow_up.action = map.require("action").text();
    auto params = map.require("params");
    follow_up.params = params.json();
    if (!params.failed() && !follow_up.params.is_object()) params.complain("it is a map");
    if (auto mistake = find_template_mistake(follow_up.params)) params.complain(*mistake);
    if (!params.failed() && template_uses_params(follow_up.params) && !tool.keep_params) {
      params.complain(
          "${params...} is needed when the success is recorded, perhaps by another process: write "
          "keep_params: encrypted");
    }
    for (const auto& field : template_result_fields(follow_up.params)) {
      if (std::ranges::count(tool.result_fields, field) > 0) continue;
      params.complain(
          fmt::format("${{result.{}}}: result_fields keeps no '{}', so there will be none",
                      escape_terminal(shorten(field, 80)), escape_terminal(shorten(field, 80))));
    }
    map.refuse_others();
    tool.follow_ups.push_back(std::move(follow_up));
  }
}

void read_times(YamlCursor& map, ToolPolicy& tool) {
  const auto read = [&](std::string_view name, Milliseconds& into) {
    into = find_duration(map, name, kShortest, kLongest).value_or(into);
  };
  read("call_timeout", tool.call_timeout);
  read("lease", tool.lease);
  read("unknown_after", tool.unknown_after);
  read("check_initial", tool.check_initial);
  read("check_max", tool.check_max);
  read("retry_horizon", tool.retry_horizon);
  if (tool.lease <= tool.call_timeout) {
    map.complain(
        fmt::format("lease ({}) must be longer than call_timeout ({}): else another worker may "
                    "call at the same time",
                    to_text(tool.lease), to_text(tool.call_timeout)));
  }
  if (tool.check_initial > tool.check_max) {
    map.complain(fmt::format("check_initial ({}) must not be longer than check_max ({})",
                             to_text(tool.check_initial), to_text(tool.check_max)));
  }
}

}  // namespace

bool is_step_name(std::string_view name) {
  constexpr std::size_t longest = 40;
  return !name.empty() && name.size() <= longest && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

std::optional<FieldRule> parse_field_rule(std::string_view text) {
  const auto row = std::ranges::find(kRuleNames, text, &RuleName::name);
  if (row == kRuleNames.end()) return std::nullopt;
  return row->rule;
}

Result<const ToolPolicy*> Policy::find_tool(const std::string& action) const {
  const auto found = tools.find(action);
  if (found != tools.end()) return &found->second;
  std::vector<std::string> known;
  for (const auto& [name, tool] : tools) known.push_back(escape_terminal(shorten(name, 80)));
  return fail(ErrorCode::not_found,
              fmt::format("no policy for the action '{}'; there are: {}",
                          escape_terminal(shorten(action, 80)), fmt::join(known, ", ")));
}

Result<const FieldRules*> ToolPolicy::find_fields(int version) const {
  if (version == hash_version) return &fields;
  const auto found = earlier_fields.find(version);
  if (found != earlier_fields.end()) return &found->second;
  return fail(ErrorCode::unsupported,
              fmt::format("the operation was hashed by version {} of the field rules, and the "
                          "policy has version {} and no earlier_fields of that one",
                          version, hash_version));
}

void check_follow_ups(const Policy& policy, PolicyTools& tools) {
  for (auto& [action, map] : tools) {
    const auto& steps = policy.tools.at(action).follow_ups;
    if (steps.empty()) continue;
    const auto places = map.require("follow_ups").items();
    for (std::size_t i = 0; i < steps.size() && i < places.size(); ++i) {
      const std::string& name = steps[i].action;
      const auto follower = policy.tools.find(name);
      if (follower == policy.tools.end()) {
        places[i].complain(fmt::format("tool_policy has no '{}'", name));
      } else if (!follower->second.keep_params) {
        places[i].complain(fmt::format(
            "nobody repeats it but the reconciler, so '{}' needs keep_params: encrypted", name));
      } else if (!follower->second.follow_ups.empty()) {
        places[i].complain(fmt::format(
            "'{}' has follow-ups of its own; one step is what a reader can follow", name));
      }
    }
  }
}

ToolPolicy read_tool_policy(YamlCursor& map) {
  ToolPolicy tool;
  if (map.kind() == YamlValue::Kind::null) return tool;  // `send_email:` alone: every default
  read_fixed(map, "operation_key", "required", "without a key a repeat is another payment");
  if (auto retry = map.find("retry")) read_retry(*retry);
  if (auto states = map.find("terminal_states")) read_terminal_states(*states);
  read_fixed(map, "on_unresolved", "require_human_review",
             "what no lookup can tell, a person decides");
  if (auto fields = map.find("fields")) tool.fields = read_fields(*fields);
  read_versions(map, tool);
  if (auto keep = map.find("keep_params")) {
    tool.keep_params = keep->one_of({"never", "encrypted"}) == "encrypted";
  }
  if (auto fields = map.find("result_fields")) tool.result_fields = fields->texts();
  if (auto steps = map.find("follow_ups")) read_follow_ups(*steps, tool);
  if (auto most = map.find("max_attempts")) tool.max_attempts = most->integer(1, kMostAttempts);
  read_times(map, tool);
  return tool;
}

Result<Policy> policy_from_json(const Json& json) {
  const auto document = document_from_json(json, "policy");
  YamlCursor root(*document);
  Policy policy;
  if (auto tools = root.find("tool_policy")) {
    auto members = tools->members();
    for (auto& [action, map] : members) {
      policy.tools[action] = read_tool_policy(map);
      map.refuse_others();
    }
    check_follow_ups(policy, members);
  }
  root.refuse_others();
  if (document->error) return fail(ErrorCode::invalid_argument, document->error->message);
  return policy;
}

}  // namespace onceproof
