// The JSON form of a fault.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "faults/fault.h"

namespace onceproof::faults {
namespace {

std::string shown(std::string_view text) {
  return escape_terminal(shorten(text, 100));
}

tl::unexpected<Error> wrong(std::string message) {
  return fail(ErrorCode::parse_failed, "fault: " + std::move(message));
}

Result<void> refuse_others(const Json& object, std::string_view where,
                           std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : object.items()) {
    if (std::ranges::find(known, name) == known.end()) {
      return wrong(fmt::format("unknown member '{}' in {}; there are: {}", shown(name), where,
                               fmt::join(known, ", ")));
    }
  }
  return {};
}

Result<std::uint32_t> count_from(const Json& object, std::string_view member) {
  const Json* value = find_member(object, member);
  if (value == nullptr) return 1U;
  const auto number = find_integer(object, member);
  if (!number || *number < 1 || *number > kMaxCount) {
    return wrong(fmt::format("{} must be a whole number from 1 to {}", member, kMaxCount));
  }
  return static_cast<std::uint32_t>(*number);
}

Result<Match> match_from(const Json& json) {
  Match match;
  if (!json.is_object()) return wrong("'on' must be an object");
  if (auto done = refuse_others(
          json, "'on'", {"service", "route", "business_ref", "key", "worker", "tenant", "nth"});
      !done) {
    return tl::unexpected(done.error());
  }
  for (const auto& [name, field] : match_fields()) {
    if (!json.contains(name)) continue;
    match.*field = find_string(json, name);
    if (!(match.*field)) return wrong(fmt::format("on.{} must be a text", name));
  }
  auto nth = count_from(json, "nth");
  if (!nth) return tl::unexpected(nth.error());
  match.nth = *nth;
  return match;
}

Result<void> set(Action& action, const ActionSpec& spec, const Parameter& parameter,
                 const Json& value) {
  if (auto done = set_parameter(action, parameter, value); !done) {
    return wrong(fmt::format("do.{}.{}: {}", spec.name, parameter.name, done.error().message));
  }
  return {};
}

Result<void> set_all(Action& action, const ActionSpec& spec, const Json& values) {
  for (const auto& [name, value] : values.items()) {
    const Parameter* parameter = find_parameter(spec, name);
    if (parameter == nullptr) {
      return wrong(fmt::format("unknown member '{}' in do.{}; there are: {}", shown(name),
                               spec.name, parameter_names(spec)));
    }
    if (auto done = set(action, spec, *parameter, value); !done) return done;
  }
  return {};
}

Result<Action> action_from(const Json& json) {
  if (!json.is_string() && (!json.is_object() || json.size() != 1)) {
    return wrong(fmt::format("'do' must be a name, or an object with one member; one of: {}",
                             fmt::join(action_names(), ", ")));
  }
  const std::string name = json.is_string() ? json.get<std::string>() : json.begin().key();
  const ActionSpec* spec = find_spec(name);
  if (spec == nullptr) {
    return wrong(fmt::format("unknown action '{}'; there are: {}", shown(name),
                             fmt::join(action_names(), ", ")));
  }
  Action action = spec->initial;
  std::vector<std::string_view> given;
  if (json.is_object()) {
    const Json& value = json.begin().value();
    const bool named = value.is_object();
    if (!named && spec->parameters.empty()) {
      return wrong(fmt::format("'{}' has no parameters; write it as a name", spec->name));
    }
    auto done =
        named ? set_all(action, *spec, value) : set(action, *spec, spec->parameters.front(), value);
    if (!done) return tl::unexpected(done.error());
  }
  for (const auto& parameter : spec->parameters) {
    const bool given_by_name =
        json.is_object() && json.begin().value().is_object() &&
        (json.begin().value().contains(parameter.name) ||
         (parameter.name == "content_type" && json.begin().value().contains("type")));
    const bool first = json.is_object() && !json.begin().value().is_object() &&
                       &parameter == &spec->parameters.front();
    if (parameter.required && !given_by_name && !first) {
      return wrong(fmt::format("do.{} needs more to say: its {}", spec->name, parameter.name));
    }
  }
  return action;
}

Json action_json(const Action& action) {
  const ActionSpec& spec = spec_of(action.kind);
  const auto told = told_parameters(action);
  const std::string name(spec.name);
  if (told.empty()) return name;
  if (spec.parameters.size() == 1) return {{name, get_parameter(action, *told.front())}};
  Json values = Json::object();
  for (const auto* parameter : told) {
    values[std::string(parameter->name)] = get_parameter(action, *parameter);
  }
  return {{name, std::move(values)}};
}

}  // namespace

Result<Fault> fault_from_json(const Json& json) {
  if (!json.is_object()) return wrong("must be an object");
  if (const auto text = find_string(json, "text"); text && json.size() == 1) {
    return fault_from_text(*text);
  }
  if (auto done = refuse_others(json, "the fault", {"at", "on", "do", "times", "optional", "name"});
      !done) {
    return tl::unexpected(done.error());
  }
  Fault fault;
  const auto point = parse_point(find_string(json, "at").value_or(""));
  if (!point) return wrong(fmt::format("'at' must be one of: {}", fmt::join(point_names(), ", ")));
  fault.at = *point;
  if (const Json* on = find_member(json, "on")) {
    auto match = match_from(*on);
    if (!match) return tl::unexpected(match.error());
    fault.on = std::move(*match);
  }
  const Json* action = find_member(json, "do");
  if (action == nullptr) {
    return wrong(fmt::format("'do' is missing; one of: {}", fmt::join(action_names(), ", ")));
  }
  auto parsed = action_from(*action);
  if (!parsed) return tl::unexpected(parsed.error());
  fault.action = std::move(*parsed);
  auto times = count_from(json, "times");
  if (!times) return tl::unexpected(times.error());
  fault.times = *times;
  if (json.contains("optional") && !find_bool(json, "optional")) {
    return wrong("'optional' must be true or false");
  }
  fault.optional = find_bool(json, "optional").value_or(false);
  if (json.contains("name") && !find_string(json, "name")) return wrong("'name' must be a text");
  fault.name = find_string(json, "name").value_or("");
  if (auto checked = check_fault(fault); !checked) {
    return fail(ErrorCode::parse_failed, checked.error().message);
  }
  return fault;
}

Json to_json(const Fault& fault) {
  Json on{{"nth", fault.on.nth}};
  for (const auto& [name, field] : match_fields()) {
    if (fault.on.*field) on[std::string(name)] = *(fault.on.*field);
  }
  return {{"at", to_text(fault.at)},         {"on", std::move(on)},
          {"do", action_json(fault.action)}, {"times", fault.times},
          {"optional", fault.optional},      {"name", fault.name}};
}

}  // namespace onceproof::faults
