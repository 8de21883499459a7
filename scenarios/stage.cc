#include "scenarios/stage.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "scenarios/services.h"

namespace onceproof::scenarios {
namespace {

constexpr std::size_t kMaxStderr = 16 << 10;

std::string quoted(const Json& message) {
  return "'" + escape_terminal(shorten(to_line(message), 200)) + "'";
}

}  // namespace

std::string last_words(Worker& worker) {
  std::string tail = worker.stderr_tail();
  while (!tail.empty() && (tail.back() == '\n' || tail.back() == '\r')) tail.pop_back();
  const auto line = tail.substr(tail.rfind('\n') + 1);  // npos + 1 is 0
  if (line.empty()) return {};
  return fmt::format("; its stderr ends: '{}'", escape_terminal(shorten(line, 200)));
}

Stage::Stage(const History& history, const SutSpec& sut, std::filesystem::path folder, Clock& clock,
             std::stop_token stop)
    : history_(history),
      sut_(sut),
      folder_(std::move(folder)),
      clock_(clock),
      stop_(std::move(stop)) {}

Stage::~Stage() = default;

Result<void> Stage::set_up() {
  std::error_code ec;
  std::filesystem::create_directories(folder_ / "state", ec);
  if (ec) {
    return fail(ErrorCode::io_failed, fmt::format("cannot make the folder {}: {}",
                                                  (folder_ / "state").string(), ec.message()));
  }
  fakes::HostOptions options;
  options.service = history_.service;
  options.profile = history_.provider;
  options.ledger = folder_ / "ledger.db";
  options.durability = Durability::fast;  // proves as much: no cell cuts the power
  options.kill_worker = [this](const std::string& worker) {
    kill_worker(worker, describe_kill(worker));
  };
  auto host = fakes::Host::start(std::move(options), clock_);
  if (!host) return tl::unexpected(host.error());
  host_ = std::move(*host);
  return arm_faults();
}

Result<void> Stage::arm_faults() {
  for (const auto& spec : history_.scenario.faults) {
    faults::Fault fault = spec.fault;
    if (!fault.on.service) fault.on.service = history_.service;
    if (spec.intent) fault.on.business_ref = history_.intents.at(*spec.intent).business_ref;
    fault.action.duration = scaled(fault.action.duration, history_.times.scale);
    if (auto armed = host_->faults().arm(std::move(fault)); !armed) {
      return tl::unexpected(armed.error());
    }
  }
  return {};
}

Json Stage::init_message(const std::string& worker) const {
  const auto& t = history_.times;
  const Json times{{"call_timeout_ms", t.call_timeout.count()},
                   {"lease_ms", t.lease.count()},
                   {"unknown_after_ms", t.unknown_after.count()},
                   {"check_initial_ms", t.check_initial.count()},
                   {"check_max_ms", t.check_max.count()}};
  Json tools = Json::object();
  for (const auto& row : actions()) {
    if (row.service != history_.service) continue;
    Json tool = parse_json(row.tool_policy, "services.cc").value_or(Json::object());
    tool.update(times);
    tools[std::string(row.action)] = std::move(tool);
  }
  const Json service{{"url", host_->url_for(worker)},
                     {"guarantees", fakes::guarantees_json(history_.provider)}};
  return {{"type", "init"},
          {"protocol", 1},
          {"worker", worker},
          {"state_dir", (folder_ / "state").string()},
          {"services", {{history_.service, service}}},
          {"policy", {{"tool_policy", std::move(tools)}}},
          {"times", times}};
}

Result<Stage::Start> Stage::start_worker(const std::string& name, MonotonicTime deadline) {
  auto worker = start_exec_worker(sut_, name, clock_);
  if (!worker) return tl::unexpected(worker.error());
  note(ProcessEvent::Kind::started, name, fmt::format("pid {}", (*worker)->pid()));
  Worker* started = worker->get();
  {
    auto players = players_.lock();
    Player& player = (*players)[name];
    if (player.worker) keep_stderr(name, *player.worker);
    player = {std::move(*worker), "", false};
  }
  return await_ready(*started, name, deadline);
}

Result<Stage::Start> Stage::await_ready(Worker& worker, const std::string& name,
                                        MonotonicTime deadline) {
  const auto broken = [&](std::string why) {
    note_exit(name);
    return Start{{}, std::move(why) + last_words(worker)};
  };
  const auto patience = scaled(sut_.start_timeout, history_.times.scale);
  const auto sent = worker.send(init_message(name));
  auto ready = sent ? worker.receive(std::min(deadline, clock_.monotonic() + patience), stop_)
                    : tl::unexpected(sent.error());
  if (!ready && ready.error().code == ErrorCode::interrupted) return tl::unexpected(ready.error());
  if (!ready && ready.error().code == ErrorCode::timed_out) {
    return broken(fmt::format("worker {} did not say ready within {}", name, to_text(patience)));
  }
  if (!ready) return broken(ready.error().message + " (before it said ready)");
  if (find_string(*ready, "type") != "ready") {
    return broken(fmt::format("worker {} answered init with {}; expected a message of type ready",
                              name, quoted(*ready)));
  }
  Start start;
  const Json* capabilities = find_member(*ready, "capabilities");
  if (capabilities == nullptr || !capabilities->is_array()) {
    return broken(fmt::format("worker {} said ready without the list of its capabilities: {}", name,
                              quoted(*ready)));
  }
  for (const auto& item : *capabilities) {
    if (item.is_string()) start.capabilities.push_back(item.get<std::string>());
  }
  return start;
}

Worker* Stage::find_worker(const std::string& name) {
  auto players = players_.lock();
  const auto player = players->find(name);
  return player == players->end() ? nullptr : player->second.worker.get();
}

bool Stage::is_alive(const std::string& name) {
  auto players = players_.lock();
  const auto player = players->find(name);
  return player != players->end() && player->second.worker->alive();
}

void Stage::kill_worker(const std::string& name, const std::string& by) {
  auto players = players_.lock();
  const auto player = players->find(name);
  if (player == players->end() || player->second.ended) return;
  player->second.killed_by = "SIGKILL " + by;  // before the kill: whoever sees it dead knows why
  player->second.ended = true;
  player->second.worker->kill();
  note(ProcessEvent::Kind::killed, name, player->second.killed_by);
}

std::string Stage::describe_kill(const std::string& worker) const {
  std::string by = "by a fault";
  const auto wire = host_->wire_log().entries();
  for (const auto& record : host_->faults().records()) {
    for (const auto& firing : record.firings) {
      const bool kills = firing.action.kind == faults::ActionKind::kill;
      if (!kills || firing.request == 0 || firing.request > wire.size()) continue;
      if (wire[firing.request - 1].worker != worker) continue;
      by = fmt::format("by {} at {}", firing.fault, faults::to_text(firing.point));
    }
  }
  return by;
}

std::string Stage::killed_by(const std::string& name) {
  auto players = players_.lock();
  const auto player = players->find(name);
  return player == players->end() ? std::string() : player->second.killed_by;
}

void Stage::note_exit(const std::string& name) {
  auto players = players_.lock();
  const auto player = players->find(name);
  if (player == players->end() || player->second.ended || player->second.worker->alive()) return;
  player->second.ended = true;
  note(ProcessEvent::Kind::exited, name, player->second.worker->stop(Milliseconds{0}).how);
}

void Stage::heal() {
  host_->faults().heal();
}

std::string Stage::end_workers(Milliseconds patience) {
  std::string unasked;
  auto players = players_.lock();
  for (auto& [name, player] : *players) {
    if (!player.ended && patience == Milliseconds{0}) player.worker->kill();
    const Ending ending = player.worker->stop(patience);
    if (!player.ended) {
      note(ProcessEvent::Kind::exited, name,
           ending.needed_force ? "did not end when asked; " + ending.how : ending.how);
    }
    if (unasked.empty() && !ending.unasked.empty() && player.killed_by.empty()) {
      unasked = fmt::format("worker {} wrote on stdout what answered nothing: '{}'", name,
                            ending.unasked);
    }
    player.ended = true;
    keep_stderr(name, *player.worker);
  }
  return unasked;
}

// A request that a fault has delayed may still take effect: the ledger is read when it has.
void Stage::await_delayed_commits() {
  MonotonicTime latest = clock_.monotonic();
  for (const auto& record : host_->faults().records()) {
    for (const auto& firing : record.firings) {
      if (firing.action.kind != faults::ActionKind::delay &&
          firing.action.kind != faults::ActionKind::commit_later) {
        continue;
      }
      latest = std::max(latest, firing.at + firing.action.duration + history_.times.max_in_flight);
    }
  }
  clock_.wait_until(latest, stop_);
}

Result<void> Stage::gather(History& history) {
  history.processes = *events_.lock();
  history.stderr_tail = stderr_;
  await_delayed_commits();
  auto effects = host_->effects();
  if (!effects) return tl::unexpected(effects.error());
  history.effects = std::move(*effects);
  history.wire = host_->wire_log().entries();
  history.faults = host_->faults().records();
  return {};
}

void Stage::note(ProcessEvent::Kind kind, const std::string& worker, std::string detail) {
  events_.lock()->push_back({kind, worker, clock_.monotonic(), std::move(detail)});
}

void Stage::keep_stderr(const std::string& name, Worker& worker) {
  const auto tail = worker.stderr_tail();
  if (tail.empty()) return;
  stderr_ += fmt::format("[{}] {}{}", name, tail, tail.ends_with('\n') ? "" : "\n");
  if (stderr_.size() > kMaxStderr) stderr_.erase(0, stderr_.size() - kMaxStderr);
}

}  // namespace onceproof::scenarios
