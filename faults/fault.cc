#include "faults/fault.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace onceproof::faults {
namespace {

constexpr std::size_t kMaxText = 1'000;  // of a name or a wanted value

constexpr std::array kMatchFields{MatchField{"service", &Match::service},
                                  MatchField{"route", &Match::route},
                                  MatchField{"business_ref", &Match::business_ref},
                                  MatchField{"key", &Match::key},
                                  MatchField{"worker", &Match::worker},
                                  MatchField{"tenant", &Match::tenant}};

tl::unexpected<Error> refuse(std::string message) {
  return fail(ErrorCode::invalid_argument, "fault: " + std::move(message));
}

// What can be at a point, for the message.
std::string actions_at(Point point) {
  std::vector<std::string_view> names;
  for (const auto& spec : action_specs()) {
    if (std::ranges::find(spec.points, point) != spec.points.end()) names.push_back(spec.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::span<const MatchField> match_fields() {
  return kMatchFields;
}

Result<void> check_fault(const Fault& fault) {
  if (auto checked = check_action(fault.action); !checked) return checked;
  const ActionSpec& spec = spec_of(fault.action.kind);
  if (std::ranges::find(spec.points, fault.at) == spec.points.end()) {
    std::vector<std::string_view> points;
    for (const auto point : spec.points) points.push_back(to_text(point));
    return refuse(fmt::format("{} at {} means nothing; it can be at {}; there can be: {}",
                              spec.name, to_text(fault.at), fmt::join(points, ", "),
                              actions_at(fault.at)));
  }
  if (fault.times < 1 || fault.on.nth < 1 || fault.times > kMaxCount || fault.on.nth > kMaxCount) {
    return refuse(fmt::format("times and nth count from 1 to {}", kMaxCount));
  }
  if (fault.name.size() > kMaxText) return refuse("the name is too long");
  for (const auto& [name, field] : kMatchFields) {
    const auto& wanted = fault.on.*field;
    if (wanted && wanted->size() > kMaxText) {
      return refuse(fmt::format("{} has more than {} bytes", name, kMaxText));
    }
  }
  return {};
}

}  // namespace onceproof::faults
