#include "scenarios/cell_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/overloaded.h"
#include "scenarios/playable.h"
#include "scenarios/services.h"

namespace onceproof::scenarios {
namespace {

constexpr Milliseconds kPatience{1'000};  // for a worker that is asked to end

std::string worker_name(int number) {
  return fmt::format("w{}", number);
}

Result<History> make_history(const Cell& cell, bool reference, double scale, Clock& clock) {
  History history;
  history.scenario = *cell.scenario;
  history.service = cell.service;
  history.profile = cell.profile;
  history.reference_sut = reference;
  auto profile = fakes::find_profile(cell.profile);
  if (!profile) return tl::unexpected(profile.error());
  history.provider = *profile;
  history.times = make_times(*profile, scale);
  history.provider.max_in_flight = history.times.max_in_flight;
  history.provider.index_delay = history.times.index_delay;
  for (const auto& [name, intent] : cell.scenario->intents) {
    const auto row = find_action(intent.action);
    if (!row) return tl::unexpected(row.error());
    history.intents[name] = {
        name,          intent.tenant, intent.intent_id.value_or(cell.scenario->name + "/" + name),
        intent.action, intent.params, business_ref(**row, intent.params)};
  }
  history.start = clock.monotonic();
  return history;
}

}  // namespace

Result<std::unique_ptr<CellRun>> CellRun::make(const Cell& cell, const RunOptions& options,
                                               double scale, std::filesystem::path folder,
                                               Clock& clock, std::stop_token stop) {
  if (auto playable = check_playable(*cell.scenario); !playable) {
    return tl::unexpected(playable.error());
  }
  auto history = make_history(cell, options.sut.reference, scale, clock);
  if (!history) return tl::unexpected(history.error());
  return std::unique_ptr<CellRun>(
      new CellRun(options, scale, std::move(*history), std::move(folder), clock, std::move(stop)));
}

CellRun::CellRun(const RunOptions& options, double scale, History history,
                 std::filesystem::path folder, Clock& clock, std::stop_token stop)
    : options_(options),
      clock_(clock),
      stop_(stop),
      deadline_(clock.monotonic() + scaled(options.cell_timeout, scale)),
      played_{std::move(history), "", Milliseconds{0}},
      stage_(history_, options.sut, std::move(folder), clock, stop),
      dialogue_(stage_, history_, clock, scaled(options.sut.answer_timeout, scale), deadline_,
                stop) {}

Result<Played> CellRun::play() {
  if (auto done = stage_.set_up(); !done) return tl::unexpected(done.error());
  auto done = start_workers();
  if (done) done = take_steps();
  if (done) done = close_down();
  if (!done) return tl::unexpected(done.error());
  if (stop_.stop_requested()) return fail(ErrorCode::interrupted, "stopped before the cell ended");
  // A worker that broke the protocol is past asking.
  auto unasked = stage_.end_workers(dialogue_.failure().empty() ? kPatience : Milliseconds{0});
  if (!unasked.empty()) dialogue_.fail_sut(std::move(unasked));
  if (!dialogue_.failure().empty()) history_.sut_failure = dialogue_.failure();
  if (done = stage_.gather(history_); !done) return tl::unexpected(done.error());
  played_.slowest_service = stage_.slowest_service();
  return std::move(played_);
}

Result<void> CellRun::start_workers() {
  for (int i = 1; i <= history_.scenario.workers; ++i) {
    if (auto done = restart(worker_name(i)); !done) return done;
  }
  const auto needed = needed_capabilities(history_.scenario);
  for (const auto& capability : needed) {
    if (can(capability) || !dialogue_.failure().empty()) continue;
    played_.unsupported = fmt::format(
        "the scenario needs the capability '{}', which the SUT did not name; it named: {}",
        capability,
        history_.capabilities.empty() ? "none"
                                      : fmt::format("{}", fmt::join(history_.capabilities, ", ")));
    break;
  }
  return {};
}

Result<void> CellRun::restart(const std::string& worker) {
  if (!dialogue_.failure().empty() || stage_.is_alive(worker)) return {};
  auto started = stage_.start_worker(worker, deadline_);
  if (!started) return tl::unexpected(started.error());
  if (!started->failure.empty()) dialogue_.fail_sut(started->failure);
  history_.capabilities = started->capabilities;
  return {};
}

bool CellRun::goes_on() {
  if (clock_.monotonic() >= deadline_) {
    dialogue_.fail_sut(fmt::format("the cell took longer than {}",
                                   to_text(scaled(options_.cell_timeout, history_.times.scale))));
  }
  return dialogue_.failure().empty() && played_.unsupported.empty() && !stop_.stop_requested();
}

Result<void> CellRun::take_steps() {
  const auto& steps = history_.scenario.steps;
  for (std::size_t i = 0; i < steps.size() && goes_on(); ++i) {
    if (auto done = take(steps[i], i); !done) return done;
  }
  return {};
}

Result<void> CellRun::take(const Step& step, std::size_t index) {
  return std::visit(
      Overloaded{[&](const SubmitStep& s) -> Result<void> {
                   submit(s, index);
                   return {};
                 },
                 [&](const ParallelStep& s) -> Result<void> {
                   std::vector<Exchange> requests;
                   for (const auto& one : s.submits) {
                     requests.push_back(dialogue_.make_submit(one, index));
                     submitted_.insert(one.intent);
                   }
                   dialogue_.exchange_all(std::move(requests));
                   return {};
                 },
                 [&](const ReconcileStep& s) -> Result<void> {
                   s.until_settled ? settle_step(s, index) : void(reconcile(s.worker, index));
                   return {};
                 },
                 [&](const StatusStep& s) -> Result<void> {
                   ask_status(s.intent, s.worker, index);
                   return {};
                 },
                 [&](const WaitStep& s) -> Result<void> {
                   clock_.wait_for(scaled(s.duration, history_.times.scale), stop_);
                   return {};
                 },
                 [&](const KillStep& s) -> Result<void> {
                   stage_.kill_worker(s.worker, "by the scenario");
                   return {};
                 },
                 [&](const RestartStep& s) -> Result<void> { return restart(s.worker); }},
      step);
}

// Until every submitted intent has ended, or waits to be submitted again. A SUT that cannot be
// asked for a status is believed when it says how many it has settled.
void CellRun::settle_step(const ReconcileStep& step, std::size_t index) {
  const auto bound = clock_.monotonic() + history_.times.settle;
  auto open =
      std::ranges::count_if(submitted_, [&](const auto& i) { return !dialogue_.is_settled(i); });
  while (goes_on() && reconcile(step.worker, index)) {
    if (can("status")) {
      open = 0;
      for (const auto& intent : submitted_) {
        if (!ask_status(intent, step.worker, index)) return;
        if (!dialogue_.is_settled(intent) && dialogue_.last_status(intent) != "pending") ++open;
      }
    } else {
      open -= history_.exchanges.back().settled;
    }
    if (open <= 0 || clock_.monotonic() >= bound) return;
    clock_.wait_for(history_.times.check_initial, stop_);
  }
}

// Faults end here. Then every intent is driven, as an orchestrator would, until it has ended; then
// one replay each.
Result<void> CellRun::close_down() {
  if (!goes_on()) return {};
  history_.marks.push_back({"all faults end", clock_.monotonic()});
  stage_.heal();
  for (int i = 1; i <= history_.scenario.workers; ++i) {
    if (auto done = restart(worker_name(i)); !done) return done;
  }
  settle();
  history_.marks.push_back({"everything has settled, or had its time", clock_.monotonic()});
  replay();
  return {};
}

void CellRun::settle() {
  const auto bound = clock_.monotonic() + history_.times.settle;
  // A SUT that can verify by itself gets the time for it; another has no way to learn anything but
  // a submit.
  const bool verifies = can("reconcile") && can("status");
  const auto first =
      clock_.monotonic() + (verifies ? history_.times.call_timeout : Milliseconds{0});
  std::map<std::string, MonotonicTime> open;
  for (const auto& intent : submitted_) open[intent] = first;
  while (!open.empty() && clock_.monotonic() < bound && goes_on()) {
    if (can("reconcile") && !reconcile("w1", history_.scenario.steps.size())) return;
    for (auto it = open.begin(); it != open.end();) {
      it = settle_intent(it->first, it->second) ? open.erase(it) : std::next(it);
    }
    if (!open.empty()) clock_.wait_for(history_.times.check_initial, stop_);
  }
}

// One round for one intent. True: it has ended, or the cell has.
bool CellRun::settle_intent(const std::string& intent, MonotonicTime& resubmit_at) {
  const std::size_t step = history_.scenario.steps.size();
  if (can("status") && !ask_status(intent, "w1", step)) return true;
  if (dialogue_.is_settled(intent)) return true;
  const bool verifies = can("reconcile") && can("status");
  const auto now = clock_.monotonic();
  // `pending` waits for nobody but us; the first time it is submitted again at once.
  const bool waits_for_us =
      dialogue_.last_status(intent) == "pending" && resubmit_at != MonotonicTime::max();
  if (now < resubmit_at && !waits_for_us) return false;
  resubmit_at = now + (verifies ? history_.times.call_timeout : history_.times.check_max);
  return !submit({intent, "w1", {}, {}}, step) || dialogue_.is_settled(intent);
}

void CellRun::replay() {
  // By the last worker: another process than the one that did it, where there are several.
  const auto worker = worker_name(history_.scenario.workers);
  for (const auto& intent : submitted_) {
    const auto status = dialogue_.last_status(intent);
    if (status != "succeeded" && status != "failed_final") continue;
    if (!submit({intent, worker, {}, {}}, history_.scenario.steps.size() + 1)) return;
  }
}

bool CellRun::submit(const SubmitStep& step, std::size_t index) {
  submitted_.insert(step.intent);
  return dialogue_.exchange(dialogue_.make_submit(step, index));
}

bool CellRun::reconcile(const std::string& worker, std::size_t index) {
  Exchange request;
  request.kind = Exchange::Kind::reconcile;
  request.step = index;
  request.worker = worker;
  return dialogue_.exchange(std::move(request));
}

bool CellRun::ask_status(const std::string& intent, const std::string& worker, std::size_t index) {
  Exchange request;
  request.kind = Exchange::Kind::status;
  request.step = index;
  request.worker = worker;
  request.intent = intent;
  return dialogue_.exchange(std::move(request));
}

bool CellRun::can(std::string_view capability) const {
  return std::ranges::find(history_.capabilities, capability) != history_.capabilities.end();
}

}  // namespace onceproof::scenarios
