// The command line as values: what the user asked for, parsed and checked, before anything is done.
// CLI11 stands in command_line.cc alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"

namespace onceproof::cli {

// Exit codes, for every command.
enum ExitCode : int {
  kPassed = 0,
  kViolated = 1,       // violations, or a cell that could not be judged: never green
  kUnusable = 2,       // the command line, a file, a port or a SUT could not be used
  kInternal = 3,       // a bug in onceproof
  kInterrupted = 130,  // Ctrl-C or SIGTERM; a partial report was written
};

struct RunArgs {
  std::vector<std::string>
      scenarios;  // names of the catalogue, or paths of .yaml files; empty: the whole catalogue
  std::vector<std::string> filters;          // globs over cell ids
  std::optional<std::filesystem::path> sut;  // a manifest
  std::string mutant;
  std::uint64_t seed = 1;
  int jobs = 8;
  Milliseconds cell_timeout{30'000};
  bool fail_fast = false;
  bool quiet = false;
  std::filesystem::path out = "onceproof-reports";
  std::optional<std::filesystem::path> json;
  std::optional<std::filesystem::path> junit;
};

struct ListArgs {
  bool json = false;
};

struct WorkerArgs {
  std::string mutant;
};

struct ServeArgs {
  std::string service = "payments";
  std::string profile = "keyed";
  std::string bind = "127.0.0.1";
  int port = 0;
  int admin_port = 0;
  std::filesystem::path ledger = ":memory:";
};

struct PolicyArgs {  // policy check
  std::filesystem::path file;
};

struct ErrorsArgs {};

using Command = std::variant<RunArgs, ListArgs, WorkerArgs, ServeArgs, PolicyArgs, ErrorsArgs>;

// What was asked for; or the exit code, when help was printed or the command line is wrong (the
// sentence is on stderr).
std::variant<Command, ExitCode> parse_command_line(int argc, char** argv);

}  // namespace onceproof::cli
