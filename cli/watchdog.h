// Ends what a run leaves behind that is killed with -9: a process of its own (`onceproof
// watchdog`), which learns of the run's end by a pipe. Every process that the run starts carries
// the run's folder in its environment (kRunVariable), and so do its descendants, whatever group or
// session they are in. A run that ends by itself ends it first. Invariant: it kills nothing but
// processes that carry that folder, and removes nothing but that folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "scenarios/suts/process.h"

namespace onceproof::cli {

inline constexpr const char* kRunVariable = "ONCEPROOF_RUN";

// `program`: this very one. The watchdog lives as long as what is returned, or longer than all of
// this process. Errors: those of Process::spawn; then a run goes without.
Result<std::unique_ptr<scenarios::Process>> start_watchdog(const std::string& program,
                                                           const std::filesystem::path& run_folder);

// The other side: waits on stdin.
ExitCode watchdog_command(const WatchdogArgs& args, const Context& context);

}  // namespace onceproof::cli
