#include "faults/action_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/text.h"
#include "faults/actions/rows.h"

namespace onceproof::faults {
namespace {

std::vector<ActionSpec> make_specs() {
  std::vector<ActionSpec> specs;
  for (auto rows : {actions::connection(), actions::answer(), actions::bytes(), actions::commit(),
                    actions::lookup(), actions::memory(), actions::worker()}) {
    for (auto& row : rows) {
      row.initial.kind = row.kind;
      specs.push_back(std::move(row));
    }
  }
  std::ranges::sort(specs, {}, &ActionSpec::kind);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    CHECK(static_cast<std::size_t>(specs[i].kind) == i);
  }
  return specs;
}

tl::unexpected<Error> wrong(std::string message) {
  return fail(ErrorCode::parse_failed, std::move(message));
}

std::string shown(std::string_view text) {
  return escape_terminal(shorten(text, 100));
}

Result<void> check_text(const Parameter& parameter, const std::string& text) {
  if (!parameter.words.empty()) {
    if (std::ranges::find(parameter.words, text) != parameter.words.end()) return {};
    return wrong(fmt::format("must be one of: {}", fmt::join(parameter.words, ", ")));
  }
  if (std::cmp_less(text.size(), parameter.least) ||
      std::cmp_greater(text.size(), parameter.most)) {
    return wrong(fmt::format("must be a text of {} to {} bytes, not of {}", parameter.least,
                             parameter.most, text.size()));
  }
  return {};
}

// What is wrong with a value, in its parameter's own unit.
struct RangeCheck {
  const Parameter& parameter;
  const Action& action;

  Result<void> range(std::int64_t value, std::string_view what, std::string least,
                     std::string most) const {
    if (value >= parameter.least && value <= parameter.most) return {};
    return wrong(fmt::format("must be {} from {} to {}", what, least, most));
  }
  Result<void> whole(std::int64_t value) const {
    return range(value, "a whole number", fmt::to_string(parameter.least),
                 fmt::to_string(parameter.most));
  }
  Result<void> operator()(int Action::*field) const { return whole(action.*field); }
  Result<void> operator()(std::uint32_t Action::*field) const { return whole(action.*field); }
  Result<void> operator()(std::uint64_t Action::*field) const {
    const auto value = std::min(action.*field, static_cast<std::uint64_t>(INT64_MAX));
    return range(static_cast<std::int64_t>(value), "a size",
                 size_text(static_cast<std::uint64_t>(parameter.least)),
                 size_text(static_cast<std::uint64_t>(parameter.most)));
  }
  Result<void> operator()(Milliseconds Action::*field) const {
    return range((action.*field).count(), "a duration",
                 duration_text(Milliseconds{parameter.least}),
                 duration_text(Milliseconds{parameter.most}));
  }
  Result<void> operator()(std::string Action::*field) const {
    // A word that may be left out is not given as an empty one.
    if ((action.*field).empty() && !parameter.words.empty() && !parameter.required) return {};
    return check_text(parameter, action.*field);
  }
};

struct Setter {
  Action& action;
  const Parameter& parameter;
  const Json& value;

  Result<void> whole(auto field) const {
    const bool number = value.is_number_integer() && (value.is_number_unsigned() || value >= 0);
    const auto given = number ? value.get<std::int64_t>() : -1;
    if (given < parameter.least || given > parameter.most) {
      return wrong(
          fmt::format("must be a whole number from {} to {}", parameter.least, parameter.most));
    }
    action.*field = static_cast<std::remove_reference_t<decltype(action.*field)>>(given);
    return {};
  }
  Result<void> operator()(int Action::*field) const { return whole(field); }
  Result<void> operator()(std::uint32_t Action::*field) const { return whole(field); }
  Result<void> operator()(std::uint64_t Action::*field) const {
    auto bytes = parse_size(value.is_string() ? value.get<std::string>() : to_line(value));
    if (!bytes) return tl::unexpected(bytes.error());
    action.*field = *bytes;
    return RangeCheck{parameter, action}(field);
  }
  Result<void> operator()(Milliseconds Action::*field) const {
    auto duration = parse_duration(value.is_string() ? value.get<std::string>() : to_line(value));
    if (!duration) return wrong(escape_terminal(duration.error().message));
    action.*field = *duration;
    return RangeCheck{parameter, action}(field);
  }
  Result<void> operator()(std::string Action::*field) const {
    if (!value.is_string()) return wrong("must be a text");
    const auto& text = value.get_ref<const std::string&>();
    if (auto checked = check_text(parameter, text); !checked) return checked;
    action.*field = text;
    return {};
  }
};

Result<void> check_answer(const Action& action) {
  if (!action.body.empty() && (action.status == 204 || action.status == 304)) {
    return wrong(fmt::format("a {} has no body; leave it out", action.status));
  }
  const auto one_line = [](const std::string& text) {
    return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
  };
  if (!one_line(action.content_type)) {
    return wrong("content_type must be one short line of ASCII, such as text/html");
  }
  if (!one_line(action.location)) return wrong("the URL must be one line of ASCII");
  if (action.kind == ActionKind::commit_later && action.status != 0 && action.status < 200) {
    return wrong("answer must be from 200 to 599, or 0 to hang");
  }
  if (action.kind == ActionKind::status &&
      action.duration % std::chrono::seconds{1} != Milliseconds{0}) {
    return wrong("retry_after must be whole seconds, such as 2s: the header has no finer unit");
  }
  return {};
}

}  // namespace

std::span<const ActionSpec> action_specs() {
  static const std::vector<ActionSpec> specs = make_specs();
  return specs;
}

const ActionSpec& spec_of(ActionKind kind) {
  return action_specs()[static_cast<std::size_t>(kind)];
}

const ActionSpec* find_spec(std::string_view name) {
  const auto specs = action_specs();
  const auto it = std::ranges::find(specs, name, &ActionSpec::name);
  return it == specs.end() ? nullptr : &*it;
}

std::string_view to_text(ActionKind kind) {
  return spec_of(kind).name;
}

std::optional<ActionKind> parse_action(std::string_view text) {
  const ActionSpec* spec = find_spec(text);
  if (spec == nullptr) return std::nullopt;
  return spec->kind;
}

std::span<const std::string_view> action_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const auto& spec : action_specs()) all.push_back(spec.name);
    return all;
  }();
  return names;
}

std::string duration_text(Milliseconds duration) {
  const auto ms = duration.count();
  if (ms != 0 && ms % 3'600'000 == 0) return fmt::format("{}h", ms / 3'600'000);
  if (ms != 0 && ms % 1'000 == 0) return fmt::format("{}s", ms / 1'000);
  return fmt::format("{}ms", ms);
}

std::string size_text(std::uint64_t bytes) {
  return fmt::format("{}B", bytes);
}

std::string retry_after_text(const Action& action) {
  return fmt::to_string(std::chrono::duration_cast<std::chrono::seconds>(action.duration).count());
}

Result<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const std::uint64_t factor = unit == "B"     ? 1
                               : unit == "KiB" ? 1 << 10
                               : unit == "MiB" ? 1 << 20
                                               : 0;
  if (error != std::errc() || factor == 0 || number > (std::uint64_t{1} << 40)) {
    return wrong(
        fmt::format("'{}' is not a size; write a number and a unit: 17B, 4KiB, 1MiB", shown(text)));
  }
  return number * factor;
}

const Parameter* find_parameter(const ActionSpec& spec, std::string_view name) {
  if (name == "type") name = "content_type";
  const auto it = std::ranges::find(spec.parameters, name, &Parameter::name);
  return it == spec.parameters.end() ? nullptr : &*it;
}

std::string parameter_names(const ActionSpec& spec) {
  std::vector<std::string_view> names;
  for (const auto& parameter : spec.parameters) names.push_back(parameter.name);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

Result<void> set_parameter(Action& action, const Parameter& parameter, const Json& value) {
  return std::visit(Setter{action, parameter, value}, parameter.field);
}

Json get_parameter(const Action& action, const Parameter& parameter) {
  struct Getter {
    const Action& action;
    Json operator()(int Action::*field) const { return action.*field; }
    Json operator()(std::uint32_t Action::*field) const { return action.*field; }
    Json operator()(std::uint64_t Action::*field) const { return size_text(action.*field); }
    Json operator()(Milliseconds Action::*field) const { return duration_text(action.*field); }
    Json operator()(std::string Action::*field) const { return action.*field; }
  };
  return std::visit(Getter{action}, parameter.field);
}

std::vector<const Parameter*> told_parameters(const Action& action) {
  const ActionSpec& spec = spec_of(action.kind);
  std::vector<const Parameter*> told;
  for (const auto& parameter : spec.parameters) {
    const bool differs = std::visit(
        [&](auto field) { return action.*field != spec.initial.*field; }, parameter.field);
    if (parameter.required || differs) told.push_back(&parameter);
  }
  return told;
}

Result<void> check_action(const Action& action) {
  const ActionSpec& spec = spec_of(action.kind);
  for (const auto& parameter : spec.parameters) {
    auto checked = std::visit(RangeCheck{parameter, action}, parameter.field);
    if (!checked) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("fault: {}.{} {}", spec.name, parameter.name, checked.error().message));
    }
  }
  if (auto checked = check_answer(action); !checked) {
    return fail(ErrorCode::invalid_argument, "fault: " + checked.error().message);
  }
  return {};
}

}  // namespace onceproof::faults
