// The only main: picks the real clock, reads the environment, turns signals into a stop token,
// calls one command.
#include <pthread.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <variant>

#include "base/overloaded.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/watchdog.h"

namespace onceproof::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// What a SUT gets of our environment: no secret of ours is among it.
std::map<std::string, std::string> sut_environment() {
  std::map<std::string, std::string> kept;
  for (const char* name : {"PATH", "HOME", "LANG", "TMPDIR"}) {
    if (auto value = environment(name); !value.empty()) kept[name] = std::move(value);
  }
  return kept;
}

std::string own_path() {
  std::error_code ec;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", ec);
  return ec ? std::string("onceproof") : path.string();
}

ExitCode dispatch(const Command& command, const Context& context) {
  return std::visit(Overloaded{[&](const RunArgs& a) { return run_command(a, context); },
                               [&](const ListArgs& a) { return list_command(a, context); },
                               [&](const WorkerArgs& a) { return worker_command(a, context); },
                               [&](const ServeArgs& a) { return serve_command(a, context); },
                               [&](const PolicyArgs& a) { return policy_command(a, context); },
                               [&](const JournalArgs& a) { return journal_command(a, context); },
                               [&](const ReviewArgs& a) { return review_command(a, context); },
                               [&](const GatewayArgs& a) { return gateway_command(a, context); },
                               [&](const ProxyArgs& a) { return proxy_command(a, context); },
                               [&](const WatchdogArgs& a) { return watchdog_command(a, context); },
                               [&](const ErrorsArgs& a) { return errors_command(a, context); }},
                    command);
}

// The others keep the signals' defaults, so that Ctrl-C ends them wherever they are. A worker is
// meant to be killed, and Ctrl-C is its runner's business.
bool looks_at_stop(const Command& command) {
  return std::holds_alternative<RunArgs>(command) || std::holds_alternative<ServeArgs>(command) ||
         std::holds_alternative<GatewayArgs>(command) || std::holds_alternative<ProxyArgs>(command);
}

// Blocks SIGINT and SIGTERM in every thread and waits for them in one: handlers would run anywhere.
class SignalWatch {
 public:
  SignalWatch() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGUSR1);  // ours: ends the watch
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    watcher_ = std::jthread([this] {
      int signal = 0;
      while (sigwait(&signals_, &signal) == 0 && signal != SIGUSR1) stop_.request_stop();
    });
  }
  ~SignalWatch() { pthread_kill(watcher_.native_handle(), SIGUSR1); }
  std::stop_token token() const { return stop_.get_token(); }

 private:
  sigset_t signals_{};
  std::stop_source stop_;
  std::jthread watcher_;
};

// What could not be printed must not look like a success. A reader that went away (| head) is no
// mistake.
ExitCode complain_of_output(int error) {
  std::fprintf(stderr, "onceproof: stdout could not be written: %s\n", std::strerror(error));
  return kUnusable;
}

ExitCode check_output(ExitCode code) {
  errno = 0;
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written || errno == EPIPE || errno == 0 || code != kPassed) return code;
  return complain_of_output(errno);
}

// fmt throws when stdout does not take what is printed; then a run's verdict was not reached.
ExitCode dispatch_and_print(const Command& command, const Context& context) {
  try {
    return check_output(dispatch(command, context));
  } catch (const std::system_error& e) {
    if (std::ferror(stdout) == 0) throw;
    const bool reader_went = e.code().value() == EPIPE && !std::holds_alternative<RunArgs>(command);
    return reader_went ? kPassed : complain_of_output(e.code().value());
  }
}

ExitCode run(int argc, char** argv) {
  // A write that fails is an error like others; children get the defaults again (process.cc).
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  auto parsed = parse_command_line(argc, argv);
  if (const auto* code = std::get_if<ExitCode>(&parsed)) return *code;
  const auto& command = std::get<Command>(parsed);
  RealClock clock;
  std::optional<SignalWatch> signals;
  if (looks_at_stop(command)) signals.emplace();
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  const std::string via = environment("ONCEPROOF_COMMAND");
  const Context context{
      .clock = clock,
      .stop = signals ? signals->token() : std::stop_token{},
      .command = via.empty() ? "onceproof" : escape_terminal(via),
      .terminal = terminal && environment("TERM") != "dumb",
      .color = terminal && environment("NO_COLOR").empty() && environment("TERM") != "dumb",
      .admin_token = environment("ONCEPROOF_ADMIN_TOKEN"),
      .key_file = environment("ONCEPROOF_KEY_FILE"),
      .key = environment("ONCEPROOF_KEY"),
      .version = ONCEPROOF_VERSION,
      .program = own_path(),
      .sut_environment = sut_environment()};
  return dispatch_and_print(command, context);
}

}  // namespace

ExitCode complain(const Error& error) {
  std::fprintf(stderr, "onceproof: %s\n", escape_terminal(error.message).c_str());
  return error.code == ErrorCode::interrupted ? kInterrupted : kUnusable;
}

}  // namespace onceproof::cli

int main(int argc, char** argv) {
  try {
    return onceproof::cli::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "onceproof: internal error: %s. This is a bug; please report it.\n",
                 onceproof::escape_terminal(e.what()).c_str());
  } catch (...) {
    std::fprintf(stderr, "onceproof: internal error. This is a bug; please report it.\n");
  }
  return onceproof::cli::kInternal;
}
