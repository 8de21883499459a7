// One function per command; each returns the exit code and has printed what there was to say.
#pragma once

#include <map>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "cli/command_line.h"

namespace onceproof::cli {

struct Context {
  Clock& clock;
  std::stop_token stop;     // requested at Ctrl-C or SIGTERM
  std::string command;      // how the user calls us: "onceproof", or "./dev" (for lines to paste)
  bool terminal = false;    // stdout is one
  bool color = false;       // a terminal, and NO_COLOR is not set
  std::string admin_token;  // ONCEPROOF_ADMIN_TOKEN
  std::string key_file;     // ONCEPROOF_KEY_FILE
  std::string key;          // ONCEPROOF_KEY
  std::string version;      // "0.1.0"
  std::string program;      // path of this very program, to start workers
  std::map<std::string, std::string> sut_environment;  // what every SUT may see of ours
};

ExitCode run_command(const RunArgs& args, const Context& context);
ExitCode list_command(const ListArgs& args, const Context& context);
ExitCode worker_command(const WorkerArgs& args, const Context& context);
ExitCode serve_command(const ServeArgs& args, const Context& context);
ExitCode policy_command(const PolicyArgs& args, const Context& context);
ExitCode journal_command(const JournalArgs& args, const Context& context);
ExitCode review_command(const ReviewArgs& args, const Context& context);
ExitCode gateway_command(const GatewayArgs& args, const Context& context);
ExitCode proxy_command(const ProxyArgs& args, const Context& context);
ExitCode errors_command(const ErrorsArgs& args, const Context& context);

// "onceproof: <message>" on stderr, and the exit code that fits the error.
ExitCode complain(const Error& error);

}  // namespace onceproof::cli
