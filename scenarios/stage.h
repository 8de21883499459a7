// What a cell is played on: its fake with the armed faults, its state_dir, its workers.
// Invariant: when it ends, its workers are dead and its fake is stopped; only files in `folder` are
// left. Driven by one thread; the fake's threads reach in for one thing, to kill a worker when a
// fault says so.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/guarded.h"
#include "fakes/host.h"
#include "scenarios/history.h"
#include "scenarios/run.h"
#include "scenarios/suts/sut.h"

namespace onceproof::scenarios {

class Stage {
 public:
  // What a worker said to `init`.
  struct Start {
    std::vector<std::string> capabilities;
    std::string
        failure;  // why it is no use: it broke the protocol, hung or ended; empty: it is ready
  };

  // `history` has the scenario, the provider and the times; it outlives this.
  Stage(const History& history, const SutSpec& sut, std::filesystem::path folder, Clock& clock,
        std::stop_token stop);
  ~Stage();

  // Makes the folder, starts the fake, arms the faults. Errors: io_failed, port_busy, those of
  // Host::start.
  Result<void> set_up();
  // Starts `name` (anew, if it is dead) and gives it its init. Errors: sut_failed, if the command
  // cannot be started at all; interrupted.
  Result<Start> start_worker(const std::string& name, MonotonicTime deadline);

  // nullptr: it was never started.
  Worker* find_worker(const std::string& name);
  bool is_alive(const std::string& name);
  // SIGKILL; its silence is no failure from now on. Any thread; returns when it is dead.
  void kill_worker(const std::string& name, const std::string& by);
  // "SIGKILL by fault-1 at after_commit", if we killed the running or last process of that name;
  // else empty.
  std::string killed_by(const std::string& name);
  // A worker ended by itself: noted once, with how.
  void note_exit(const std::string& name);

  // No fault fires from here on.
  void heal();
  // Ends every worker: asked first, with `patience`, and then killed; with none, killed. Returns
  // what a worker wrote that answered nothing, as a sentence; empty: nothing.
  std::string end_workers(Milliseconds patience);
  // After end_workers(): what the fake, the kernel and the workers' stderr have to tell. Errors:
  // those of Host::effects.
  Result<void> gather(History& history);
  // The fake's own longest time for a request without a fault.
  Milliseconds slowest_service() const { return host_->longest_service_time(); }

 private:
  struct Player {
    std::unique_ptr<Worker> worker;
    std::string killed_by;
    bool ended = false;  // its end was noted
  };

  Result<void> arm_faults();
  Json init_message(const std::string& worker) const;
  Result<Start> await_ready(Worker& worker, const std::string& name, MonotonicTime deadline);
  std::string describe_kill(const std::string& worker) const;
  void note(ProcessEvent::Kind kind, const std::string& worker, std::string detail);
  void keep_stderr(const std::string& name, Worker& worker);
  void await_delayed_commits();

  const History& history_;
  const SutSpec& sut_;
  std::filesystem::path folder_;
  Clock& clock_;
  std::stop_token stop_;
  std::string stderr_;
  Guarded<std::vector<ProcessEvent>> events_;
  Guarded<std::map<std::string, Player>> players_;
  std::unique_ptr<fakes::Host> host_;  // last: it stops before what its kill callback uses is gone
};

// What a worker's last words add to a sentence about it: "; its stderr ends: '...'", or nothing.
std::string last_words(Worker& worker);

}  // namespace onceproof::scenarios
