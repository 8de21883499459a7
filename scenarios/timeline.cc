#include "scenarios/timeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"

namespace onceproof::scenarios {
namespace {

constexpr std::array<std::string_view, 7> kLanes{"agent", "executor", "provider", "ledger",
                                                 "fault", "process",  "runner"};

std::string shown(const std::string& text, std::size_t bytes) {
  return escape_terminal(shorten(text, bytes));
}

class TimelineMaker {
 public:
  explicit TimelineMaker(const History& history) : history_(history) {}

  std::vector<TimelineEvent> make() {
    for (const auto& exchange : history_.exchanges) add_exchange(exchange);
    for (const auto& entry : history_.wire) add_request(entry);
    for (const auto& record : history_.faults) add_fault(record);
    for (const auto& event : history_.processes) add_process(event);
    for (const auto& mark : history_.marks) add(mark.at, Lane::runner, mark.text);
    std::ranges::stable_sort(events_, {}, [](const auto& event) { return event.at; });
    return std::move(events_);
  }

 private:
  void add(MonotonicTime at, Lane lane, std::string text, std::uint64_t request = 0) {
    events_.push_back({at, lane, std::move(text), request});
  }

  void add_exchange(const Exchange& exchange) {
    if (exchange.kind == Exchange::Kind::reconcile) {
      if (exchange.checked == 0 && exchange.settled == 0) return;
      add(exchange.sent_at, Lane::agent, fmt::format("reconcile on {}", exchange.worker));
      if (!exchange.answered_at) return;
      add(*exchange.answered_at, Lane::executor,
          fmt::format("{} checked {}, settled {}", exchange.worker, exchange.checked,
                      exchange.settled));
      return;
    }
    if (exchange.kind == Exchange::Kind::status) {
      auto& last = last_status_[exchange.intent];
      if (!exchange.answer || exchange.answer->status == last) return;
      last = exchange.answer->status;
      add(*exchange.answered_at, Lane::executor,
          fmt::format("{}: status of {} is {}", exchange.worker, exchange.intent, last));
      return;
    }
    const auto changed = exchange.changed ? fmt::format(" with other parameters: {}",
                                                        shown(to_line(changes_of(exchange)), 120))
                                          : std::string();
    add(exchange.sent_at, Lane::agent,
        fmt::format("submit {} to {}{}", exchange.intent, exchange.worker, changed));
    if (!exchange.answer) return;
    const auto& answer = *exchange.answer;
    if (!exchange.changed) last_status_[exchange.intent] = answer.status;
    std::string text = fmt::format("{} answers {}", exchange.worker, answer.status);
    if (!answer.external_id.empty()) text += " " + shown(answer.external_id, 80);
    if (!answer.error_code.empty()) text += fmt::format(" ({})", shown(answer.error_code, 80));
    add(*exchange.answered_at, Lane::executor, std::move(text));
  }

  Json changes_of(const Exchange& exchange) const {
    Json changes = Json::object();
    const Json& own = history_.intents.at(exchange.intent).params;
    for (const auto& [name, value] : exchange.params.items()) {
      const Json* before = find_member(own, name);
      if (before == nullptr || *before != value) changes[name] = value;
    }
    return changes;
  }

  void add_request(const fakes::WireEntry& entry) {
    std::string text =
        fmt::format("request {}: {} {}", entry.number, entry.method, shown(entry.target, 80));
    if (!entry.key.empty() && entry.route == "create") text += ", key " + shown(entry.key, 80);
    add(entry.received_at, Lane::provider, std::move(text), entry.number);
    if (entry.committed_at) {
      add(*entry.committed_at, Lane::ledger,
          fmt::format("effect {} is committed (request {})", fmt::join(entry.effect_ids, ", "),
                      entry.number),
          entry.number);
    }
    if (!entry.responded_at) return;
    add(*entry.responded_at, Lane::provider,
        fmt::format("reply to request {}: {} ({})", entry.number, entry.status,
                    entry.delivered ? fakes::to_text(entry.disposition) : "not the true answer"),
        entry.number);
  }

  void add_fault(const faults::FaultRecord& record) {
    for (const auto& firing : record.firings) {
      add(firing.at, Lane::fault,
          fmt::format("{} strikes request {} at {}: {}", shown(record.fault.name, 80),
                      firing.request, faults::to_text(firing.point),
                      faults::to_text(firing.action.kind)),
          firing.request);
    }
  }

  void add_process(const ProcessEvent& event) {
    constexpr std::array<std::string_view, 3> kWhat{"starts", "is killed", "ends"};
    add(event.at, Lane::process,
        fmt::format("{} {}: {}", event.worker, kWhat[static_cast<std::size_t>(event.kind)],
                    shown(event.detail, 120)));
  }

  const History& history_;
  std::map<std::string, std::string> last_status_;
  std::vector<TimelineEvent> events_;
};

}  // namespace

std::string_view to_text(Lane lane) {
  return kLanes[static_cast<std::size_t>(lane)];
}

std::vector<TimelineEvent> make_timeline(const History& history) {
  return TimelineMaker(history).make();
}

std::string to_text(const TimelineEvent& event, MonotonicTime start) {
  return fmt::format("{:7.3f} s  {:8}  {}", std::chrono::duration<double>(event.at - start).count(),
                     to_text(event.lane), event.text);
}

}  // namespace onceproof::scenarios
