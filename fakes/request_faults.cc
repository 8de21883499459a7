#include "fakes/request_faults.h"

namespace onceproof::fakes {
namespace {

std::vector<std::pair<std::string, std::string>> retry_after(const faults::Action& action) {
  if (action.duration <= Milliseconds{0}) return {};
  return {{"Retry-After", faults::retry_after_text(action)}};
}

}  // namespace

std::optional<faults::Firing> RequestFaults::visit(faults::Point point) {
  auto firing = parts_.faults.visit(point, facts);
  if (firing) {
    parts_.wire_log.update(facts.request, [&](WireEntry& e) {
      if (e.fault.empty()) e.fault = firing->fault;
    });
  }
  return firing;
}

std::optional<faults::Decision> RequestFaults::strike(faults::Point point) {
  auto firing = visit(point);
  if (!firing) return std::nullopt;
  struck_ = true;
  faults::Decision decision;
  switch (firing->action.kind) {
    case faults::ActionKind::delay:
      if (parts_.clock.wait_for(firing->action.duration, stop_)) return std::nullopt;
      decision.ending = faults::Ending::close;  // the fake stops
      return decision;
    case faults::ActionKind::status:
      return answer({.status = firing->action.status,
                     .body = std::move(firing->action.body),
                     .content_type = std::move(firing->action.content_type),
                     .headers = retry_after(firing->action)},
                    false);
    case faults::ActionKind::kill:
      if (parts_.kill_worker && !facts.worker.empty()) parts_.kill_worker(facts.worker);
      [[fallthrough]];
    case faults::ActionKind::close:
      decision.ending = faults::Ending::close;
      return decision;
    case faults::ActionKind::reset:
      decision.ending = faults::Ending::reset;
      return decision;
    case faults::ActionKind::hang:
      decision.ending = faults::Ending::hang;
      return decision;
  }
  return decision;
}

faults::Decision RequestFaults::answer(faults::HttpReply reply, bool truth) {
  faults::Decision decision;
  decision.before_last_byte = [&parts = parts_, facts = facts, truth, status = reply.status] {
    const auto now = parts.clock.monotonic();
    const auto firing = parts.faults.visit(faults::Point::response_sent, facts);
    parts.wire_log.update(facts.request, [&](WireEntry& e) {
      e.status = status;
      e.responded_at = now;
      e.delivered = truth;
      if (firing && e.fault.empty()) e.fault = firing->fault;
    });
    faults::AfterReply after;
    if (!firing) return after;
    after.ending = firing->action.kind == faults::ActionKind::reset ? faults::Ending::reset
                                                                    : faults::Ending::close;
    if (firing->action.kind == faults::ActionKind::kill && parts.kill_worker &&
        !facts.worker.empty()) {
      after.action = [&parts, worker = facts.worker] { parts.kill_worker(worker); };
    }
    return after;
  };
  decision.on_broken = [&parts = parts_, request = facts.request](std::size_t) {
    parts.wire_log.update(request, [](WireEntry& e) {
      e.responded_at.reset();
      e.delivered = false;
    });
  };
  decision.reply = std::move(reply);
  return decision;
}

}  // namespace onceproof::fakes
