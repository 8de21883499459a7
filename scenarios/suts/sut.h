// A system under test: an executor behind an adapter, as the runner sees it.
// The runner speaks only this; what a SUT is written in does not show.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"

namespace onceproof::scenarios {

// How to start workers of a SUT; from a manifest, or the reference's own command.
struct SutSpec {
  std::string name;                   // "reference", "my-executor"
  std::vector<std::string> command;   // argv; found by PATH
  std::filesystem::path working_dir;  // empty: ours
  // The whole environment of a worker: what the manifest says, over what cli/ lets through.
  std::map<std::string, std::string> environment;
  bool reference = false;               // the reference or a mutant of it
  std::string mutant;                   // name, if it is one
  Milliseconds start_timeout{5'000};    // from spawn to "ready"
  Milliseconds answer_timeout{10'000};  // for one message
};

// How a worker ended.
struct Ending {
  std::string how;            // "exit code 0", "signal 9 (SIGKILL)"
  bool needed_force = false;  // it did not end when it was asked to
  std::string unasked;        // the first line on stdout that answered nothing; empty: none
};

// One worker process of a SUT that speaks JSON Lines (docs/sut-protocol.md). Driven by one thread,
// except kill(), alive() and stderr_tail(). Its stderr is read all the time: it may be as chatty as
// it likes.
class Worker {
 public:
  virtual ~Worker() = default;  // kills the process group and reaps it; bounded

  // Sends one message (a line); bounded. Errors: sut_failed if the pipe is closed or not read.
  virtual Result<void> send(const Json& message) = 0;
  // The next message within the time. Errors: timed_out, sut_failed (garbage, exit, too long a
  // line), interrupted.
  virtual Result<Json> receive(MonotonicTime deadline, std::stop_token stop) = 0;
  // SIGKILL to the whole group, and waits until it is dead. Any thread.
  virtual void kill() = 0;
  // Asked to end, then killed.
  virtual Ending stop(Milliseconds patience) = 0;
  virtual bool alive() = 0;
  virtual int pid() const = 0;
  virtual std::string stderr_tail() = 0;  // the last 4 KiB
};

// Starts a process. Errors: sut_failed with the command and the reason (not found, not executable).
Result<std::unique_ptr<Worker>> start_exec_worker(const SutSpec& spec,
                                                  const std::string& worker_name, Clock& clock);

}  // namespace onceproof::scenarios
