#include "cli/watchdog.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <vector>

namespace onceproof::cli {
namespace {

constexpr char kDismissed = '.';
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

std::unique_ptr<Watchdog> Watchdog::start(const std::string& program,
                                          const std::filesystem::path& run_folder) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, read_end.get(), STDIN_FILENO);
  // Not ours: who reads them waits for their end.
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  // A session of its own: Ctrl-C and a terminal that closes are the run's business.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  std::string name = "watchdog";
  std::string path = program;
  std::string folder = run_folder.string();
  char* arguments[] = {path.data(), name.data(), folder.data(), nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return nullptr;
  return std::unique_ptr<Watchdog>(new Watchdog(pid, std::move(write_end)));
}

Watchdog::~Watchdog() {
  // If it is dead itself, the pipe is broken, and SIGPIPE is ignored by every command.
  static_cast<void>(::write(pipe_.get(), &kDismissed, 1));
  pipe_.reset();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

ExitCode watchdog_command(const WatchdogArgs& args, const Context& context) {
  if (!is_run_folder(args.run_folder)) {
    return complain({ErrorCode::invalid_argument, "watchdog: this is no folder of a run"});
  }
  char last = 0;
  for (char byte = 0;;) {
    const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
    if (count == 0 || (count < 0 && errno != EINTR)) break;
    if (count == 1) last = byte;
  }
  if (last == kDismissed) return kPassed;
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
