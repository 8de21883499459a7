#include "scenarios/suts/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "base/check.h"
#include "base/text.h"

namespace onceproof::scenarios {
namespace {

constexpr int kReapMs = 10'000;  // a killed process is gone at once, unless the kernel holds it
constexpr std::size_t kMaxDescendants = 10'000;

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) {
    return fail(ErrorCode::sut_failed,
                "cannot make a pipe: " + std::generic_category().message(errno));
  }
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::string describe(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* name = sigabbrev_np(signal);
    return fmt::format("signal {} (SIG{})", signal, name == nullptr ? "?" : name);
  }
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

int spawn_with(const ProcessSpec& spec, int in, int out, int err, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  // Whoever opened a descriptor without CLOEXEC (a server's accepted sockets, say): a child that
  // held it would keep a connection open that a fault has closed.
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  if (!spec.working_dir.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, spec.working_dir.c_str());
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A clean slate: our own mask and ignored SIGPIPE must not be inherited.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  auto arguments = spec.command;
  std::vector<std::string> variables;
  for (const auto& [name, value] : spec.env) variables.push_back(fmt::format("{}={}", name, value));
  const int result = posix_spawnp(&pid, arguments[0].c_str(), &actions, &attributes,
                                  pointers(arguments).data(), pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return result;
}

// A child belongs to the thread that made or adopted it: all threads are asked.
std::set<pid_t> children_of(const std::string& process) {
  std::set<pid_t> pids;
  std::error_code ec;
  std::filesystem::directory_iterator task("/proc/" + process + "/task", ec);
  for (; !ec && task != std::filesystem::directory_iterator(); task.increment(ec)) {
    std::ifstream children(task->path() / "children");
    for (pid_t pid = 0; children >> pid;) pids.insert(pid);
  }
  return pids;
}

void add_descendants(pid_t ancestor, std::set<pid_t>& found) {
  std::vector<pid_t> to_ask{ancestor};
  while (!to_ask.empty() && found.size() < kMaxDescendants) {
    const pid_t parent = to_ask.back();
    to_ask.pop_back();
    for (const pid_t child : children_of(std::to_string(parent))) {
      if (found.insert(child).second) to_ask.push_back(child);
    }
  }
}

// Waits (bounded) for a child that was killed, or, with a negative number, for all of a group that
// are ours. True: nothing is left of it.
bool reap_killed(pid_t pid, int* status) {
  for (int waited_ms = 0; waited_ms < kReapMs;) {
    const pid_t result = ::waitpid(pid, status, WNOHANG);
    if (result > 0 && pid > 0) return true;
    if (result < 0 && errno != EINTR) return pid < 0;
    if (result > 0) continue;  // one of the group; the next
    ::poll(nullptr, 0, 1);
    ++waited_ms;
  }
  return false;
}

// Kills and reaps those children of ours that `wanted` names. As children they are not reaped, so
// their numbers are still theirs. Killing a parent hands us its children: hence the rounds.
template <typename Wanted>
void kill_children(const Wanted& wanted) {
  for (int round = 0; round < 100; ++round) {
    bool any = false;
    for (const pid_t pid : own_children()) {
      if (!wanted(pid)) continue;
      any = true;
      ::kill(pid, SIGKILL);
      if (!reap_killed(pid, nullptr)) return;
    }
    if (!any) return;
  }
}

}  // namespace

std::set<pid_t> own_children() {
  return children_of("self");
}

Result<std::unique_ptr<Process>> Process::spawn(const ProcessSpec& spec) {
  CHECK(!spec.command.empty());
  const auto shown = escape_terminal(shorten(spec.command[0], 200));
  std::error_code ec;
  if (!spec.working_dir.empty() && !std::filesystem::is_directory(spec.working_dir, ec)) {
    return fail(ErrorCode::sut_failed,
                fmt::format("cannot start '{}': working_dir {} is no folder", shown,
                            escape_terminal(spec.working_dir.string())));
  }
  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  for (const auto* pipe : {&in, &out, &err}) {
    if (!*pipe) return tl::unexpected(pipe->error());
  }
  pid_t pid = 0;
  if (const int error = spawn_with(spec, in->read.get(), out->write.get(), err->write.get(), pid)) {
    const auto where = spec.working_dir.empty()
                           ? std::string()
                           : " in " + escape_terminal(spec.working_dir.string());
    return fail(ErrorCode::sut_failed, fmt::format("cannot start '{}'{}: {}", shown, where,
                                                   std::generic_category().message(error)));
  }
  return std::unique_ptr<Process>(
      new Process(pid, std::move(in->write), std::move(out->read), std::move(err->read)));
}

Process::Process(pid_t pid, UniqueFd in, UniqueFd out, UniqueFd err)
    : pid_(pid), in_(std::move(in)), out_(std::move(out)), err_(std::move(err)) {}

Process::~Process() {
  kill();
}

void Process::remember_descendants() {
  auto state = state_.lock();
  if (!state->status) add_descendants(pid_, state->strays);
}

void Process::kill() {
  auto state = state_.lock();
  if (state->status) return;
  add_descendants(pid_, state->strays);
  // The group may outlive its leader; as long as the leader is not reaped, its number is ours.
  ::kill(-pid_, SIGKILL);
  int status = SIGKILL;  // what is assumed of a process that the kernel does not let go
  reap_killed(pid_, &status);
  state->status = status;
  reap_killed(-pid_, nullptr);
  kill_children([&](pid_t pid) { return state->strays.contains(pid); });
}

bool Process::alive() {
  // Looks without reaping, so that the group's number stays ours until kill() has swept the group.
  auto state = state_.lock();
  if (state->status) return false;
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

std::optional<std::string> Process::wait(Milliseconds patience, Clock& clock) {
  const auto deadline = clock.monotonic() + patience;
  const UniqueFd watch(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  while (alive() && clock.monotonic() < deadline) {
    const auto left = std::chrono::ceil<Milliseconds>(deadline - clock.monotonic()).count();
    pollfd entry{watch.get(), POLLIN, 0};
    const int longest_ms = watch.valid() ? 50 : 1;
    ::poll(&entry, watch.valid() ? 1 : 0, static_cast<int>(std::clamp<long>(left, 0, longest_ms)));
  }
  if (alive()) return std::nullopt;
  kill();
  return describe(*state_.lock()->status);
}

OrphanGuard::OrphanGuard() : spared_(own_children()) {
  ::prctl(PR_GET_CHILD_SUBREAPER, &was_subreaper_, 0, 0, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

OrphanGuard::~OrphanGuard() {
  kill_children([this](pid_t pid) { return !spared_.contains(pid); });
  ::prctl(PR_SET_CHILD_SUBREAPER, was_subreaper_, 0, 0, 0);
}

}  // namespace onceproof::scenarios
