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
#include "reference/journal.h"

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
  std::vector<std::string> faults;
};

struct PolicyArgs {  // policy check
  std::filesystem::path file;
};

struct JournalArgs {
  enum class What { list, show, verify, purge, dump };
  What what = What::list;
  std::string journal;  // "sqlite:PATH"
  std::string key;      // show
  std::string status;   // list; empty: any
  bool in_review = false;
  bool json = false;
  std::string after;
  std::size_t limit = 100;
  std::string action;  // purge
  bool plan = false;   // purge: `action` is the name of a plan
  Milliseconds age{0};
  std::filesystem::path policy;
};

struct ReviewArgs {
  enum class What { list, show, resolve };
  What what = What::list;
  std::string journal;  // "sqlite:PATH"
  std::string key;
  std::string after;
  std::size_t limit = 100;
  Resolution resolution;
  std::filesystem::path policy;  // for what follows a success; empty: nothing does
};

struct GatewayArgs {
  std::string upstream;
  std::filesystem::path policy;
  std::string journal = "sqlite:gateway.db";
  std::string bind = "127.0.0.1";
  int port = 0;
};

struct ProxyArgs {
  std::string upstream;
  std::filesystem::path ca;
  std::string host = "client";
  std::string bind = "127.0.0.1";
  int port = 0;
  int admin_port = 0;
  std::string key_header = "Idempotency-Key";
  std::vector<std::string> routes;       // "NAME=METHOD PATH"
  std::vector<std::string> faults;       // YAML or JSON, one fault each
  std::filesystem::path faults_file;     // a list of them
  std::vector<std::string> duplicates;   // rules
  std::vector<std::string> truncations;  // rules with at=BYTES
  bool log = false;
};

struct ErrorsArgs {};

struct WatchdogArgs {
  std::filesystem::path run_folder;
};

using Command = std::variant<RunArgs, ListArgs, WorkerArgs, ServeArgs, PolicyArgs, JournalArgs,
                             ReviewArgs, GatewayArgs, ProxyArgs, ErrorsArgs, WatchdogArgs>;

// What was asked for; or the exit code, when help was printed or the command line is wrong (the
// sentence is on stderr).
std::variant<Command, ExitCode> parse_command_line(int argc, char** argv);

}  // namespace onceproof::cli
