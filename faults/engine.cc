#include "faults/engine.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "base/text.h"

namespace onceproof::faults {
namespace {

constexpr std::size_t kMaxFaults = 1'000;

bool agrees(const std::optional<std::string>& wanted, const std::string& actual) {
  return !wanted || *wanted == actual;
}

// Routes of a fake are words; those of a proxy are "POST /payments/17".
bool fits(const std::optional<std::string>& glob, const std::string& actual) {
  return !glob || *glob == actual || ::fnmatch(glob->c_str(), actual.c_str(), 0) == 0;
}

bool means_something(ActionKind kind, const RequestFacts& facts) {
  switch (spec_of(kind).needs) {
    case Needs::nothing:
      return true;
    case Needs::read:
      return facts.reads;
    case Needs::write:
      return facts.writes;
    case Needs::key:
      return facts.keyed;
  }
  return true;
}

bool matches(const Fault& fault, Point point, const RequestFacts& facts) {
  return fault.at == point && agrees(fault.on.service, facts.service) &&
         fits(fault.on.route, facts.route) && agrees(fault.on.business_ref, facts.business_ref) &&
         agrees(fault.on.key, facts.key) && agrees(fault.on.worker, facts.worker) &&
         agrees(fault.on.tenant, facts.tenant) && means_something(fault.action.kind, facts);
}

// Which of a list is wrong; nothing if there is but one.
std::string place(std::size_t index, std::size_t count) {
  return count > 1 ? fmt::format("fault {} of {}: ", index + 1, count) : std::string();
}

}  // namespace

Engine::Engine(Clock& clock) : clock_(clock) {}

Result<std::string> Engine::arm(Fault fault) {
  std::vector<Fault> one;
  one.push_back(std::move(fault));
  auto names = arm(std::move(one));
  if (!names) return tl::unexpected(names.error());
  return std::move(names->front());
}

Result<std::vector<std::string>> Engine::arm(std::vector<Fault> faults) {
  for (std::size_t i = 0; i < faults.size(); ++i) {
    if (auto checked = check_fault(faults[i]); !checked) {
      return fail(checked.error().code, place(i, faults.size()) + checked.error().message);
    }
  }
  auto state = state_.lock();
  auto& records = state->records;
  if (records.size() + faults.size() > kMaxFaults) {
    return fail(ErrorCode::limit_exceeded,
                fmt::format("{} faults would be armed; at most {}: clear some first",
                            records.size() + faults.size(), kMaxFaults));
  }
  std::set<std::string> taken;
  for (const auto& record : records) taken.insert(record.fault.name);
  for (std::size_t i = 0; i < faults.size(); ++i) {
    if (faults[i].name.empty() || taken.insert(faults[i].name).second) continue;
    return fail(ErrorCode::already_exists,
                fmt::format("{}a fault named '{}' is there already; names are unique",
                            place(i, faults.size()), escape_terminal(faults[i].name)));
  }
  std::vector<std::string> names;
  for (auto& fault : faults) {
    for (std::size_t n = records.size() + 1; fault.name.empty(); ++n) {
      if (auto name = fmt::format("fault-{}", n); taken.insert(name).second) fault.name = name;
    }
    names.push_back(fault.name);
    FaultRecord record;
    record.fault = std::move(fault);
    record.armed_at = clock_.monotonic();
    records.push_back(std::move(record));
  }
  return names;
}

void Engine::heal() {
  auto state = state_.lock();
  for (auto& record : state->records) {
    if (record.firings.size() < record.fault.times) record.released = true;
  }
}

Result<void> Engine::remove(std::string_view name) {
  auto state = state_.lock();
  const auto gone = std::erase_if(
      state->records, [&](const FaultRecord& record) { return record.fault.name == name; });
  if (gone > 0) return {};
  return fail(ErrorCode::not_found,
              fmt::format("there is no fault named '{}'", escape_terminal(name)));
}

void Engine::reset() {
  state_.lock()->records.clear();
}

std::optional<Firing> Engine::visit(Point point, const RequestFacts& facts) {
  return visit(point, facts, nullptr);
}

std::optional<Firing> Engine::visit(Point point, const RequestFacts& facts, const Number& number) {
  auto state = state_.lock();
  FaultRecord* strikes = nullptr;
  for (auto& record : state->records) {
    if (record.released || !matches(record.fault, point, facts)) continue;
    ++record.visits;
    const bool due = record.visits >= record.fault.on.nth &&
                     record.visits - record.fault.on.nth < record.fault.times;
    if (due && strikes == nullptr) strikes = &record;
  }
  if (strikes == nullptr) return std::nullopt;
  const auto request = number ? number(strikes->fault.name) : facts.request;
  Firing firing{strikes->fault.name, point, strikes->fault.action, request, clock_.monotonic()};
  strikes->firings.push_back(firing);
  strikes->firings.back().action.body.clear();  // the fault has it; a copy a firing could be much
  return firing;
}

std::vector<FaultRecord> Engine::records() const {
  return state_.lock()->records;
}

}  // namespace onceproof::faults
