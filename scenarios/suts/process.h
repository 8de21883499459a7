// A child process in a group of its own, with pipes; dead and reaped, with its whole group, when
// this ends. Invariant: after kill() or the destructor no process of the group is left; descriptors
// of ours never reach a child. Knows nothing of the protocol.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/guarded.h"

namespace onceproof::scenarios {

struct ProcessSpec {
  std::vector<std::string> command;   // argv, not empty; without a slash it is found by our PATH
  std::filesystem::path working_dir;  // empty: ours; a command with a slash is relative to it
  std::map<std::string, std::string> env;  // the whole environment of the child
};

class Process {
 public:
  // Errors: sut_failed with the command and the reason (not found, not executable, no such folder).
  // posix_spawn and not fork: 0.5 ms against 19 ms from a large parent.
  static Result<std::unique_ptr<Process>> spawn(const ProcessSpec& spec);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int pid() const { return static_cast<int>(pid_); }
  int stdin_fd() const { return in_.get(); }
  int stdout_fd() const { return out_.get(); }
  int stderr_fd() const { return err_.get(); }
  void close_stdin() { in_.reset(); }

  // SIGKILL to the group, and to descendants that left it. Returns when they are reaped (bounded:
  // 10 s, should the kernel not let go). Thread-safe, may be called again.
  void kill();
  // Remembers the descendants of now for kill(): once the leader is gone, nothing shows whose they
  // were. kill() does this itself while the leader lives.
  void remember_descendants();
  bool alive();
  // How it ended, once it has: "exit code 3", "signal 9 (SIGKILL)"; its group is then killed too.
  // Waits at most `patience`; nullopt: it lives.
  std::optional<std::string> wait(Milliseconds patience, Clock& clock);

 private:
  struct State {
    std::optional<int> status;  // of waitpid, once reaped
    std::set<pid_t> strays;     // descendants seen
  };
  Process(pid_t pid, UniqueFd in, UniqueFd out, UniqueFd err);

  pid_t pid_;
  UniqueFd in_, out_, err_;
  Guarded<State> state_;
};

// While it lives, orphaned descendants are ours (PR_SET_CHILD_SUBREAPER) and not init's; its end
// kills and reaps every child that was not there at its beginning. So no orphan outlives a run, not
// even one that left its group and its parents. One at a time in a process; it ends after every
// Process. Children made by others meanwhile would be killed too.
class OrphanGuard {
 public:
  OrphanGuard();
  ~OrphanGuard();
  OrphanGuard(const OrphanGuard&) = delete;
  OrphanGuard& operator=(const OrphanGuard&) = delete;

 private:
  int was_subreaper_ = 0;
  std::set<pid_t> spared_;
};

// Our children, as the kernel lists them now.
std::set<pid_t> own_children();

}  // namespace onceproof::scenarios
