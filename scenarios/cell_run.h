// One cell, played once: takes the scenario's steps, ends all faults, lets everything settle,
// replays, and gathers the history. Invariant: when play() returns, its workers are dead, its fake
// is stopped; only files in `folder` are left. Observes and records; judges nothing.
#pragma once

#include <filesystem>
#include <set>
#include <stop_token>
#include <string>

#include "scenarios/dialogue.h"
#include "scenarios/history.h"
#include "scenarios/run.h"
#include "scenarios/stage.h"

namespace onceproof::scenarios {

struct Played {
  History history;
  std::string unsupported;          // why this SUT cannot take the steps; empty: it can
  Milliseconds slowest_service{0};  // the fake's own longest time for a request without a fault
};

class CellRun {
 public:
  // Times are multiplied by `scale`. Errors: invalid_argument (a scenario that names what it does
  // not have), not_found (unknown profile or action).
  static Result<std::unique_ptr<CellRun>> make(const Cell& cell, const RunOptions& options,
                                               double scale, std::filesystem::path folder,
                                               Clock& clock, std::stop_token stop);
  // Once. Errors: sut_failed (cannot be started at all), port_busy, io_failed, interrupted.
  Result<Played> play();

 private:
  CellRun(const RunOptions& options, double scale, History history, std::filesystem::path folder,
          Clock& clock, std::stop_token stop);

  Result<void> start_workers();
  Result<void> restart(const std::string& worker);
  Result<void> take_steps();
  Result<void> take(const Step& step, std::size_t index);
  void settle_step(const ReconcileStep& step, std::size_t index);
  Result<void> close_down();
  void settle();
  bool settle_intent(const std::string& intent, MonotonicTime& resubmit_at);
  void replay();

  bool submit(const SubmitStep& step, std::size_t index);
  bool reconcile(const std::string& worker, std::size_t index);
  bool ask_status(const std::string& intent, const std::string& worker, std::size_t index);
  bool can(std::string_view capability) const;
  bool goes_on();

  const RunOptions& options_;
  Clock& clock_;
  std::stop_token stop_;
  MonotonicTime deadline_;
  Played played_;
  History& history_ = played_.history;
  std::set<std::string> submitted_;
  Stage stage_;
  Dialogue dialogue_;
};

}  // namespace onceproof::scenarios
