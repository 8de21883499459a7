#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <variant>

#include "scenarios/scenario_parts.h"
#include "scenarios/services.h"

namespace onceproof::scenarios {
namespace {

constexpr std::size_t kMaxFaults = 100;
constexpr int kMaxCount = 1'000;

// Noted at the value's own place.
void read_parameter(YamlCursor at, const faults::Parameter& parameter, faults::Action& action) {
  struct Reader {
    YamlCursor& at;
    const faults::Parameter& parameter;
    Json operator()(int faults::Action::*) const {
      return at.integer(parameter.least, parameter.most);
    }
    Json operator()(std::uint32_t faults::Action::*) const {
      return at.integer(parameter.least, parameter.most);
    }
    Json operator()(std::uint64_t faults::Action::*) const { return at.text(); }
    Json operator()(Milliseconds faults::Action::*) const {
      return faults::duration_text(at.duration());
    }
    Json operator()(std::string faults::Action::*) const { return at.text(); }
  };
  const Json value = std::visit(Reader{at, parameter}, parameter.field);
  if (at.failed()) return;
  if (const auto set = faults::set_parameter(action, parameter, value); !set) {
    at.complain(set.error().message);
  }
}

void read_parameters(YamlCursor at, const faults::ActionSpec& spec, faults::Action& action) {
  for (const auto& parameter : spec.parameters) {
    auto value = at.find(parameter.name);
    if (!value && parameter.name == "content_type") value = at.find("type");
    if (!value && parameter.required) value = at.require(parameter.name);
    if (value) read_parameter(*value, parameter, action);
  }
  at.refuse_others();
}

// `do: hang`, `do: {delay: 80ms}` or `do: {status: {code: 502, body: ..., content_type: ...}}`.
faults::Action read_action(YamlCursor at) {
  std::vector<std::string> names;
  for (const auto name : faults::action_names()) names.emplace_back(name);
  if (at.kind() != YamlValue::Kind::map) {
    const auto* spec = faults::find_spec(at.one_of(names));
    if (spec == nullptr) return {};
    for (const auto& parameter : spec->parameters) {
      if (!parameter.required) continue;
      at.complain(fmt::format("{} needs its {}: {{{}: {{{}: ...}}}}", spec->name, parameter.name,
                              spec->name, parameter.name));
    }
    return spec->initial;
  }
  for (const auto& spec : faults::action_specs()) {
    auto value = at.find(spec.name);
    if (!value) continue;
    faults::Action action = spec.initial;
    if (value->kind() == YamlValue::Kind::map) {
      read_parameters(*value, spec, action);
    } else if (spec.parameters.empty()) {
      value->complain(fmt::format("{} has no parameters; write do: {}", spec.name, spec.name));
    } else {
      read_parameter(*value, spec.parameters.front(), action);
    }
    at.refuse_others();
    return action;
  }
  at.complain("expected an action with its parameters: {delay: 80ms}, {status: {code: 502}}");
  at.refuse_others();
  return {};
}

void read_match(YamlCursor at, const KnownNames& known, FaultSpec& spec) {
  faults::Match& match = spec.fault.on;
  if (auto service = at.find("service")) match.service = service->one_of(service_names());
  if (auto route = at.find("route")) match.route = route->one_of({"create", "get", "lookup"});
  if (auto intent = at.find("intent")) {
    spec.intent = intent->one_of(known.intents);
    if (match.route && match.route != "create") {
      intent->complain(
          "only a create tells which intent it is about; leave out intent or write route: create");
    }
  }
  if (auto worker = at.find("worker")) match.worker = worker->one_of(known.workers);
  if (auto tenant = at.find("tenant")) match.tenant = tenant->text();
  if (auto key = at.find("key")) match.key = read_key(*key);
  if (auto nth = at.find("nth")) match.nth = static_cast<std::uint32_t>(nth->integer(1, kMaxCount));
  at.refuse_others();
}

FaultSpec read_fault(YamlCursor at, const KnownNames& known, std::size_t index) {
  FaultSpec spec;
  std::vector<std::string> points;
  for (const auto name : faults::point_names()) points.emplace_back(name);
  spec.fault.at = faults::parse_point(at.require("at").one_of(points)).value_or(spec.fault.at);
  if (auto on = at.find("on")) read_match(*on, known, spec);
  spec.fault.action = read_action(at.require("do"));
  if (auto times = at.find("times")) {
    spec.fault.times = static_cast<std::uint32_t>(times->integer(1, kMaxCount));
  }
  if (auto optional = at.find("optional")) spec.fault.optional = optional->boolean();
  auto name = at.find("name");
  spec.fault.name = name ? read_name(*name, "-_", 80) : fmt::format("fault-{}", index + 1);
  at.refuse_others();
  if (const auto checked = faults::check_fault(spec.fault); !checked && !at.failed()) {
    at.complain(checked.error().message);
  }
  return spec;
}

}  // namespace

std::vector<FaultSpec> read_faults(YamlCursor at, const KnownNames& known) {
  std::vector<FaultSpec> specs;
  std::set<std::string> names;
  for (auto& item : at.items()) {
    specs.push_back(read_fault(item, known, specs.size()));
    if (!names.insert(specs.back().fault.name).second) {
      item.complain(
          fmt::format("the name '{}' is taken by another fault", specs.back().fault.name));
    }
  }
  if (specs.size() > kMaxFaults) at.complain(fmt::format("at most {} faults", kMaxFaults));
  return specs;
}

}  // namespace onceproof::scenarios
