#include "fakes/request_faults.h"

namespace onceproof::fakes {
namespace {

std::vector<std::pair<std::string, std::string>> retry_after(const faults::Action& action) {
  if (action.duration <= Milliseconds{0}) return {};
  return {{"Retry-After", faults::retry_after_text(action)}};
}

faults::Decision ending(faults::Ending how) {
  faults::Decision decision;
  decision.ending = how;
  return decision;
}

// The answer that a fault gives instead of the true one.
faults::HttpReply made_up(faults::Action& action, const std::string& target) {
  faults::HttpReply reply{.status = action.status,
                          .body = std::move(action.body),
                          .content_type = std::move(action.content_type)};
  if (action.kind == faults::ActionKind::redirect) {
    reply.headers.emplace_back("Location", action.location == "self" ? target : action.location);
  } else {
    reply.headers = retry_after(action);
  }
  return reply;
}

std::optional<faults::AfterFirstByte> after_first_byte(FakeParts& parts,
                                                       const faults::RequestFacts& facts) {
  const auto firing = parts.faults.visit(faults::Point::response_first_byte, facts);
  if (!firing) return std::nullopt;
  parts.wire_log.update(facts.request, [&](WireEntry& e) {
    if (e.fault.empty()) e.fault = firing->fault;
  });
  faults::AfterFirstByte after;
  switch (firing->action.kind) {
    case faults::ActionKind::delay:
      after.delay = firing->action.duration;
      break;
    case faults::ActionKind::pause:
      after.action = [&parts, worker = facts.worker, time = firing->action.duration] {
        if (parts.pause_worker && !worker.empty()) parts.pause_worker(worker, time);
      };
      break;
    case faults::ActionKind::reset:
      after.ending = faults::Ending::reset;
      break;
    case faults::ActionKind::hang:
      after.ending = faults::Ending::hang;
      break;
    case faults::ActionKind::kill:
      after.action = [&parts, worker = facts.worker] {
        if (parts.kill_worker && !worker.empty()) parts.kill_worker(worker);
      };
      [[fallthrough]];
    default:
      after.ending = faults::Ending::close;
  }
  return after;
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

std::optional<faults::Decision> RequestFaults::strike(faults::Point point,
                                                      faults::HttpReply* truth) {
  auto firing = visit(point);
  if (!firing) return std::nullopt;
  struck_ = true;
  faults::Action& action = firing->action;
  switch (action.kind) {
    case faults::ActionKind::delay:
      if (parts_.clock.wait_for(action.duration, stop_)) return std::nullopt;
      return ending(faults::Ending::close);  // the fake stops
    case faults::ActionKind::pause:
      if (parts_.pause_worker && !facts.worker.empty()) {
        parts_.pause_worker(facts.worker, action.duration);
      }
      return std::nullopt;
    case faults::ActionKind::kill:
      if (parts_.kill_worker && !facts.worker.empty()) parts_.kill_worker(facts.worker);
      return ending(faults::Ending::close);
    case faults::ActionKind::close:
      return ending(faults::Ending::close);
    case faults::ActionKind::reset:
      return ending(faults::Ending::reset);
    case faults::ActionKind::hang:
      return ending(faults::Ending::hang);
    case faults::ActionKind::status:
    case faults::ActionKind::wrong_shape:
    case faults::ActionKind::redirect:
      return answer(made_up(action, target), false);
    case faults::ActionKind::forget_key:
      (void)parts_.ledger.forget_key(
          facts.key);  // a ledger that cannot forget cannot commit either
      return ending(faults::Ending::reset);
    case faults::ActionKind::in_flight_for_ever:
      leaves_mark_ = true;
      return ending(faults::Ending::reset);
    case faults::ActionKind::slow_close:  // not at a point that comes here
      return std::nullopt;
    case faults::ActionKind::not_found:
    case faults::ActionKind::stale:
    case faults::ActionKind::truncated_page:
    case faults::ActionKind::commit_later:
    case faults::ActionKind::partial:
    case faults::ActionKind::keep_error:
      instead_ = std::move(action);
      return std::nullopt;
    case faults::ActionKind::truncate:
    case faults::ActionKind::half_body:
    case faults::ActionKind::drip:
    case faults::ActionKind::garbage:
    case faults::ActionKind::bad_chunk:
    case faults::ActionKind::no_last_chunk:
      return written(action, truth != nullptr ? std::move(*truth) : faults::HttpReply{});
  }
  return std::nullopt;
}

// A reply whose bytes go out otherwise. Only a drip brings all of it.
faults::Decision RequestFaults::written(const faults::Action& action, faults::HttpReply truth) {
  using Form = faults::Writing::Form;
  faults::Writing writing;
  writing.then = action.then == "reset" ? faults::Ending::reset : faults::Ending::close;
  if (action.kind == faults::ActionKind::drip) {
    writing.piece = static_cast<std::size_t>(action.bytes);
    writing.every = action.duration;
  } else if (action.kind == faults::ActionKind::garbage) {
    writing.form = Form::raw;
    writing.raw = action.body;
  } else if (action.kind == faults::ActionKind::truncate) {
    writing.form = Form::cut;
    writing.bytes = static_cast<std::size_t>(action.bytes);
  } else {
    writing.form = action.kind == faults::ActionKind::half_body   ? Form::half_body
                   : action.kind == faults::ActionKind::bad_chunk ? Form::bad_chunk
                                                                  : Form::no_last_chunk;
  }
  auto decision = answer(std::move(truth), true);
  decision.writing = std::move(writing);
  return decision;
}

faults::Decision RequestFaults::answer(faults::HttpReply reply, bool truth) {
  faults::Decision decision;
  decision.before_first_byte = [&parts = parts_, facts = facts] {
    return after_first_byte(parts, facts);
  };
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
    if (firing->action.kind == faults::ActionKind::slow_close) {
      after.linger = firing->action.duration;
    }
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
