#include "faults/fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace onceproof::faults {
namespace {

constexpr std::array<std::string_view, 3> kPoints{"request_received", "after_commit",
                                                  "response_sent"};
constexpr std::array<std::string_view, 6> kActions{"close",  "reset", "hang",
                                                   "status", "delay", "kill"};
constexpr std::int64_t kMaxCount = 1'000'000;
// Below 200 there is no complete answer: the client would go on waiting.
constexpr int kMinStatus = 200, kMaxStatus = 599;
constexpr Milliseconds kMaxDelay{3'600'000};
constexpr std::size_t kMaxBody = 64 << 10;
constexpr std::size_t kMaxText = 1'000;  // of a name or a wanted value

template <std::size_t N>
std::string list(const std::array<std::string_view, N>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

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
  if (auto done =
          refuse_others(json, "'on'", {"service", "route", "business_ref", "key", "worker", "nth"});
      !done) {
    return tl::unexpected(done.error());
  }
  for (auto [name, field] : {std::pair{"service", &match.service},
                             {"route", &match.route},
                             {"business_ref", &match.business_ref},
                             {"key", &match.key},
                             {"worker", &match.worker}}) {
    if (!json.contains(name)) continue;
    *field = find_string(json, name);
    if (!*field) return wrong(fmt::format("on.{} must be a text", name));
  }
  auto nth = count_from(json, "nth");
  if (!nth) return tl::unexpected(nth.error());
  match.nth = *nth;
  return match;
}

Action action_of(ActionKind kind) {
  Action action;
  action.kind = kind;
  return action;
}

Result<Action> status_action(const Json& value) {
  Action action = action_of(ActionKind::status);
  if (!value.is_object()) return wrong(R"(do.status must be an object: {"code":502,"body":"..."})");
  if (auto done = refuse_others(value, "do.status", {"code", "body", "content_type"}); !done) {
    return tl::unexpected(done.error());
  }
  const auto code = find_integer(value, "code");
  if (!code || *code < kMinStatus || *code > kMaxStatus) {
    return wrong(
        fmt::format("do.status.code must be a whole number from {} to {}", kMinStatus, kMaxStatus));
  }
  action.status = static_cast<int>(*code);
  for (auto [name, field] :
       {std::pair{"body", &action.body}, std::pair{"content_type", &action.content_type}}) {
    if (!value.contains(name)) continue;
    auto text = find_string(value, name);
    if (!text) return wrong(fmt::format("do.status.{} must be a text", name));
    *field = std::move(*text);
  }
  return action;
}

Result<Action> action_from(const Json& json) {
  if (json.is_string()) {
    const auto kind = parse_action(json.get<std::string>());
    if (!kind) {
      return wrong(fmt::format("unknown action '{}'; there are: {}", shown(json.get<std::string>()),
                               list(kActions)));
    }
    if (*kind == ActionKind::status || *kind == ActionKind::delay) {
      return wrong(R"('do' needs more to say: {"status":{"code":502}} or {"delay":"80ms"})");
    }
    return action_of(*kind);
  }
  if (!json.is_object() || json.size() != 1) {
    return wrong("'do' must be a name or an object with one member: status or delay");
  }
  if (const Json* status = find_member(json, "status")) return status_action(*status);
  if (const auto text = find_string(json, "delay")) {
    const auto duration = parse_duration(*text);
    if (!duration) return wrong("do.delay: " + duration.error().message);
    Action action = action_of(ActionKind::delay);
    action.duration = *duration;
    return action;
  }
  return wrong("'do' must be a name or an object with one member: status or delay");
}

tl::unexpected<Error> refuse(std::string message) {
  return fail(ErrorCode::invalid_argument, "fault: " + std::move(message));
}

Result<void> check_status(const Action& action) {
  if (action.status < kMinStatus || action.status > kMaxStatus) {
    return refuse(
        fmt::format("status code {}; must be {} to {}", action.status, kMinStatus, kMaxStatus));
  }
  if (action.body.size() > kMaxBody) {
    return refuse(fmt::format("status body of {} bytes; at most {}", action.body.size(), kMaxBody));
  }
  if (!action.body.empty() && (action.status == 204 || action.status == 304)) {
    return refuse(fmt::format("a {} has no body; leave it out", action.status));
  }
  const bool one_line =
      std::ranges::all_of(action.content_type, [](char c) { return c >= 0x20 && c < 0x7f; });
  if (!one_line || action.content_type.empty() || action.content_type.size() > kMaxText) {
    return refuse("content_type must be one short line of ASCII, such as text/html");
  }
  return {};
}

Result<void> check_action(const Action& action) {
  if (action.kind == ActionKind::status) return check_status(action);
  if (action.kind == ActionKind::delay &&
      (action.duration <= Milliseconds{0} || action.duration > kMaxDelay)) {
    return refuse("delay must be longer than nothing and at most 1h; write do: {delay: 80ms}");
  }
  return {};
}

}  // namespace

std::string_view to_text(Point point) {
  return kPoints[static_cast<std::size_t>(point)];
}
std::string_view to_text(ActionKind kind) {
  return kActions[static_cast<std::size_t>(kind)];
}
std::span<const std::string_view> point_names() {
  return kPoints;
}
std::span<const std::string_view> action_names() {
  return kActions;
}

std::optional<Point> parse_point(std::string_view text) {
  const auto it = std::ranges::find(kPoints, text);
  if (it == kPoints.end()) return std::nullopt;
  return static_cast<Point>(it - kPoints.begin());
}

std::optional<ActionKind> parse_action(std::string_view text) {
  const auto it = std::ranges::find(kActions, text);
  if (it == kActions.end()) return std::nullopt;
  return static_cast<ActionKind>(it - kActions.begin());
}

Result<void> check_fault(const Fault& fault) {
  if (auto checked = check_action(fault.action); !checked) return checked;
  const ActionKind kind = fault.action.kind;
  const bool ends_reply =
      kind == ActionKind::close || kind == ActionKind::reset || kind == ActionKind::kill;
  if (fault.at == Point::response_sent && !ends_reply) {
    return refuse(
        fmt::format("{0} at response_sent means nothing: the reply is out; use close, "
                    "reset or kill there, or {0} at after_commit",
                    to_text(kind)));
  }
  if (fault.times < 1 || fault.on.nth < 1) return refuse("times and nth count from 1");
  if (fault.name.size() > kMaxText) return refuse("the name is too long");
  for (const auto* wanted : {&fault.on.service, &fault.on.route, &fault.on.business_ref,
                             &fault.on.key, &fault.on.worker}) {
    if (*wanted && (*wanted)->size() > kMaxText) {
      return refuse(fmt::format("a value in 'on' has more than {} bytes", kMaxText));
    }
  }
  return {};
}

std::string to_text(const Fault& fault) {
  std::string text = fmt::format("{}.{}@{}", shown(fault.on.service.value_or("*")),
                                 shown(fault.on.route.value_or("*")), to_text(fault.at));
  if (fault.on.business_ref) text += " business_ref=" + shown(*fault.on.business_ref);
  if (fault.on.key) text += " key=" + shown(*fault.on.key);
  if (fault.on.worker) text += " worker=" + shown(*fault.on.worker);
  text +=
      fmt::format(" nth={} times={}: {}", fault.on.nth, fault.times, to_text(fault.action.kind));
  if (fault.action.kind == ActionKind::status) text += fmt::format(" {}", fault.action.status);
  if (fault.action.kind == ActionKind::delay) {
    text += fmt::format(" {}", onceproof::to_text(fault.action.duration));
  }
  return text;
}

Result<Fault> fault_from_json(const Json& json) {
  if (!json.is_object()) return wrong("must be an object");
  if (auto done = refuse_others(json, "the fault", {"at", "on", "do", "times", "optional", "name"});
      !done) {
    return tl::unexpected(done.error());
  }
  Fault fault;
  const auto point = parse_point(find_string(json, "at").value_or(""));
  if (!point) return wrong(fmt::format("'at' must be one of: {}", list(kPoints)));
  fault.at = *point;
  if (const Json* on = find_member(json, "on")) {
    auto match = match_from(*on);
    if (!match) return tl::unexpected(match.error());
    fault.on = std::move(*match);
  }
  const Json* action = find_member(json, "do");
  if (action == nullptr) return wrong(fmt::format("'do' is missing; one of: {}", list(kActions)));
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
  if (fault.on.service) on["service"] = *fault.on.service;
  if (fault.on.route) on["route"] = *fault.on.route;
  if (fault.on.business_ref) on["business_ref"] = *fault.on.business_ref;
  if (fault.on.key) on["key"] = *fault.on.key;
  if (fault.on.worker) on["worker"] = *fault.on.worker;
  Json action = std::string(to_text(fault.action.kind));
  if (fault.action.kind == ActionKind::status) {
    action = {{"status",
               {{"code", fault.action.status},
                {"body", fault.action.body},
                {"content_type", fault.action.content_type}}}};
  } else if (fault.action.kind == ActionKind::delay) {
    action = {{"delay", fmt::format("{}ms", fault.action.duration.count())}};
  }
  return {{"at", to_text(fault.at)},    {"on", on},          {"do", action}, {"times", fault.times},
          {"optional", fault.optional}, {"name", fault.name}};
}

}  // namespace onceproof::faults
