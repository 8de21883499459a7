// The kinds of actions as data: name, parameters, the points where each means something. From it
// every form is read and written: text, JSON, the YAML of scenarios, and docs/faults.md is held
// against it. A new action is a row in a file of faults/actions/ and a value of ActionKind.
// Invariant: every kind has exactly one spec.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "faults/action.h"
#include "faults/point.h"

namespace onceproof::faults {

// A number, a size ("17B"), a duration ("80ms") or a text, by the type of its field.
struct Parameter {
  using Field = std::variant<int Action::*, std::uint32_t Action::*, std::uint64_t Action::*,
                             Milliseconds Action::*, std::string Action::*>;
  std::string_view name;
  Field field;
  bool required = false;
  std::int64_t least = 0, most = 0;          // of a number, bytes or milliseconds; most: of a text
  std::vector<std::string_view> words = {};  // a text: one of these, if there are any
};

// What a request must be for the action to mean something to it. Others pass the point unseen.
enum class Needs {
  nothing,
  read,   // it looks something up
  write,  // it would have an effect
  key,    // a write whose key the provider remembers
};

struct ActionSpec {
  ActionKind kind;
  std::string_view name;
  std::vector<Point> points;
  std::vector<Parameter> parameters = {};  // the first may be written without its name
  Action initial = {};                     // what the parameters are if nothing is said
  Needs needs = Needs::nothing;
};

// In order of ActionKind.
std::span<const ActionSpec> action_specs();
const ActionSpec& spec_of(ActionKind kind);
const ActionSpec* find_spec(std::string_view name);

std::string_view to_text(ActionKind kind);
std::optional<ActionKind> parse_action(std::string_view text);
std::span<const std::string_view> action_names();

// "80ms", "17B": what parse_duration and parse_size read back exactly.
std::string duration_text(Milliseconds duration);
std::string size_text(std::uint64_t bytes);
// The header's value of a `status` that has a retry_after: whole seconds.
std::string retry_after_text(const Action& action);
// "17B", "4KiB", "1MiB". Errors: parse_failed.
Result<std::uint64_t> parse_size(std::string_view text);

// By its name; "type" stands for "content_type". nullptr: there is none.
const Parameter* find_parameter(const ActionSpec& spec, std::string_view name);
// "code, body, content_type", for messages; "none".
std::string parameter_names(const ActionSpec& spec);
// The value as JSON has it: a number or a text. Errors: parse_failed, saying what it must be.
Result<void> set_parameter(Action& action, const Parameter& parameter, const Json& value);
Json get_parameter(const Action& action, const Parameter& parameter);
// Those that must be given, and those that differ from what they are when nothing is said.
std::vector<const Parameter*> told_parameters(const Action& action);
// Errors (invalid_argument): a value out of its range, a required one that is missing.
Result<void> check_action(const Action& action);

}  // namespace onceproof::faults
