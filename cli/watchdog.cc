#include "cli/watchdog.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <vector>

#include "base/file.h"

namespace onceproof::cli {

using scenarios::Process;

namespace {

constexpr std::size_t kMaxEnvironment = 1 << 20;
constexpr int kRounds = 100;  // a process that is being killed may start another one
constexpr Milliseconds kPause{20};

std::vector<pid_t> processes_of(const std::filesystem::path& run_folder) {
  const std::string wanted = std::string(kRunVariable) + "=" + run_folder.string() + '\0';
  std::vector<pid_t> found;
  std::error_code ec;
  std::filesystem::directory_iterator entry("/proc", ec);
  for (; !ec && entry != std::filesystem::directory_iterator(); entry.increment(ec)) {
    const std::string name = entry->path().filename().string();
    pid_t pid = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (wrong != std::errc() || end != name.data() + name.size() || pid == ::getpid()) continue;
    const auto environment = read_file(entry->path() / "environ", kMaxEnvironment);
    if (environment && ('\0' + *environment).find('\0' + wanted) != std::string::npos) {
      found.push_back(pid);
    }
  }
  return found;
}

// A folder that TempDir made for a run, and nothing else that a command line may name.
bool is_run_folder(const std::filesystem::path& folder) {
  std::error_code ec;
  return folder.is_absolute() && folder.filename().string().starts_with("onceproof-") &&
         folder.parent_path() == (std::filesystem::temp_directory_path(ec) / "x").parent_path();
}

}  // namespace

Result<std::unique_ptr<Process>> start_watchdog(const std::string& program,
                                                const std::filesystem::path& run_folder) {
  return Process::spawn(
      {{program, "watchdog", run_folder.string()}, {}, {{"TMPDIR", run_folder.parent_path()}}});
}

ExitCode watchdog_command(const WatchdogArgs& args, const Context& context) {
  if (!is_run_folder(args.run_folder)) {
    return complain({ErrorCode::invalid_argument, "watchdog: this is no folder of a run"});
  }
  // The other end is the run's, so its end is the run's death: a run that ends by itself kills us
  // before it lets go.
  for (char byte = 0;;) {
    const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
    if (count == 0 || (count < 0 && errno != EINTR)) break;
  }
  for (int round = 0; round < kRounds; ++round) {
    const auto left = processes_of(args.run_folder);
    if (left.empty()) break;
    for (const pid_t pid : left) ::kill(pid, SIGKILL);
    context.clock.wait_for(kPause);
  }
  std::error_code ignored;
  std::filesystem::remove_all(args.run_folder, ignored);
  return kPassed;
}

}  // namespace onceproof::cli
