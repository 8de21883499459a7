// Ends what a run leaves behind that is killed with -9: a process of its own (`onceproof
// watchdog`), which learns of the run's end by a pipe. Every process that the run starts carries
// the run's folder in its environment (kRunVariable), and so do its descendants, whatever group or
// session they are in. A run that ends by itself dismisses it. Invariant: it kills nothing but
// processes that carry that folder, and removes nothing but that folder.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/file.h"
#include "cli/commands.h"

namespace onceproof::cli {

inline constexpr const char* kRunVariable = "ONCEPROOF_RUN";

class Watchdog {
 public:
  // `program`: this very one. Null: there is no process to be had; then a run goes without.
  static std::unique_ptr<Watchdog> start(const std::string& program,
                                         const std::filesystem::path& run_folder);
  ~Watchdog();  // dismisses it, and waits for its end
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  Watchdog(pid_t pid, UniqueFd pipe) : pid_(pid), pipe_(std::move(pipe)) {}

  pid_t pid_;
  UniqueFd pipe_;
};

// The other side: waits on stdin.
ExitCode watchdog_command(const WatchdogArgs& args, const Context& context);

}  // namespace onceproof::cli
