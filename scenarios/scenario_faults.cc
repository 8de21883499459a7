#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "scenarios/scenario_parts.h"
#include "scenarios/services.h"

namespace onceproof::scenarios {
namespace {

constexpr std::size_t kMaxFaults = 100;
constexpr int kMaxCount = 1'000;

// `do: hang`, `do: {delay: 80ms}` or `do: {status: {code: 502, body: ..., content_type: ...}}`.
faults::Action read_action(YamlCursor at) {
  faults::Action action;
  if (at.kind() != YamlValue::Kind::map) {
    std::vector<std::string> bare;
    for (const auto name : faults::action_names()) {
      if (name != "delay" && name != "status") bare.emplace_back(name);
    }
    const auto name = at.kind() == YamlValue::Kind::scalar ? at.text() : std::string();
    if (name == "delay") at.complain("a delay needs its time: {delay: 80ms}");
    if (name == "status") at.complain("a status needs its code: {status: {code: 502}}");
    action.kind = faults::parse_action(at.one_of(bare)).value_or(action.kind);
    return action;
  }
  if (auto delay = at.find("delay")) {
    action.kind = faults::ActionKind::delay;
    action.duration = delay->duration();
  } else if (auto status = at.find("status")) {
    action.kind = faults::ActionKind::status;
    action.status = static_cast<int>(status->require("code").integer(200, 599));
    if (auto body = status->find("body")) action.body = body->text();
    if (auto type = status->find("content_type")) action.content_type = type->text();
    status->refuse_others();
  } else {
    at.complain("expected delay or status: {delay: 80ms}, {status: {code: 502}}");
  }
  at.refuse_others();
  return action;
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
