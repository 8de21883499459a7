// The `exec` adapter: the SUT protocol over a subprocess (docs/sut-protocol.md).
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/text.h"
#include "scenarios/suts/process.h"
#include "scenarios/suts/stderr_ring.h"
#include "scenarios/suts/sut.h"

namespace onceproof::scenarios {
namespace {

constexpr std::size_t kMaxLine = 1 << 20;
constexpr int kSliceMs = 50;  // a stop is noticed after this long
constexpr Milliseconds kWrite{3'000};

// write(2) whose SIGPIPE is swallowed in this thread alone, whatever the program does with signals.
ssize_t write_quietly(int fd, std::string_view bytes) {
  sigset_t pipe_signal, before, pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const ssize_t n = ::write(fd, bytes.data(), bytes.size());
  const int error = errno;
  if (n < 0 && error == EPIPE && !was_pending) {
    const timespec at_once{0, 0};
    while (sigtimedwait(&pipe_signal, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return n;
}

class ExecWorker final : public Worker {
 public:
  ExecWorker(std::unique_ptr<Process> process, std::string name, Clock& clock)
      : process_(std::move(process)),
        name_(std::move(name)),
        clock_(clock),
        stderr_(process_->stderr_fd()) {
    for (const int fd : {process_->stdin_fd(), process_->stdout_fd()}) {
      ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    }
  }

  Result<void> send(const Json& message) override {
    const std::string line = to_line(message) + "\n";
    std::string_view rest = line;
    const auto deadline = clock_.monotonic() + kWrite;  // the pipe takes 64 KiB by itself
    while (!rest.empty()) {
      const ssize_t n = write_quietly(process_->stdin_fd(), rest);
      if (n >= 0) {
        rest.remove_prefix(static_cast<std::size_t>(n));
      } else if (errno == EAGAIN) {
        if (clock_.monotonic() >= deadline) return broken("does not read its stdin");
        pump(POLLOUT, deadline);
      } else if (errno != EINTR) {
        if (!process_->alive()) return ended();
        return broken("closed its stdin");
      }
    }
    return {};
  }

  Result<Json> receive(MonotonicTime deadline, std::stop_token stop) override {
    for (;;) {
      if (auto line = take_line()) return parse(*line);
      if (buffer_.size() > kMaxLine) {
        return broken(fmt::format("wrote a line of more than {} bytes on stdout", kMaxLine));
      }
      if (out_closed_) return ended();
      if (stop.stop_requested()) return fail(ErrorCode::interrupted, "stopped");
      if (clock_.monotonic() >= deadline) {
        return fail(ErrorCode::timed_out, fmt::format("worker {} did not answer in time", name_));
      }
      const bool lived = process_->alive();  // asked first: what the dead wrote is there to be read
      // A dead worker's descendant may hold the pipe open: its silence is no answer.
      if (!pump(0, lived ? deadline : clock_.monotonic()) && !lived) return ended();
    }
  }

  void kill() override { process_->kill(); }

  Ending stop(Milliseconds patience) override {
    Ending ending;
    process_->remember_descendants();
    if (process_->alive()) static_cast<void>(send(Json{{"type", "shutdown"}}));
    process_->close_stdin();
    const auto deadline = clock_.monotonic() + patience;
    // Its stdout is read to the end: a second answer to the last request would stand there.
    while (!out_closed_ && process_->alive() && clock_.monotonic() < deadline) {
      pump(0, deadline);
      drop_lines(ending);
    }
    auto how = process_->wait(std::max(Milliseconds{0}, std::chrono::duration_cast<Milliseconds>(
                                                            deadline - clock_.monotonic())),
                              clock_);
    while (!out_closed_ && pump(0, clock_.monotonic())) drop_lines(ending);
    drop_lines(ending);
    ending.needed_force = !how.has_value();
    if (!how) {
      process_->kill();
      how = process_->wait(Milliseconds{0}, clock_);
    }
    ending.how = *how;
    stderr_.finish();
    return ending;
  }

  bool alive() override { return process_->alive(); }
  int pid() const override { return process_->pid(); }
  std::string stderr_tail() override { return stderr_.tail(); }

 private:
  tl::unexpected<Error> broken(std::string_view what) const {
    return fail(ErrorCode::sut_failed, fmt::format("worker {} {}", name_, what));
  }

  tl::unexpected<Error> ended() {
    const auto how = process_->wait(Milliseconds{500}, clock_);
    if (!how) return broken("closed its stdout but runs on");
    stderr_.finish();
    return broken("ended unasked: " + *how);
  }

  std::optional<std::string> take_line() {
    const auto end = buffer_.find('\n', scanned_);
    scanned_ = end == std::string::npos ? buffer_.size() : 0;
    if (end == std::string::npos) return std::nullopt;
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return line;
  }

  Result<Json> parse(const std::string& line) const {
    auto message = parse_json(line, fmt::format("stdout of {}", name_), {kMaxLine, 64});
    if (message && message->is_object()) return message;
    return broken(fmt::format("wrote a line on stdout that is no JSON object: '{}'; log to stderr",
                              escape_terminal(shorten(line, 120))));
  }

  // What it says after its last request is read only so that it can end.
  void drop_lines(Ending& ending) {
    if (ending.unasked.empty() && !buffer_.empty()) {
      ending.unasked = escape_terminal(shorten(buffer_.substr(0, buffer_.find('\n')), 120));
    }
    buffer_.clear();
    scanned_ = 0;
  }

  // Waits for stdout (or for stdin to take more), at most one slice. True: something was read.
  bool pump(short stdin_events, MonotonicTime deadline) {
    const auto left = std::chrono::ceil<Milliseconds>(deadline - clock_.monotonic()).count();
    const int wait_ms = static_cast<int>(std::clamp<long>(left, 0, kSliceMs));
    // A flood is left in the pipe, where it stops the flooder, once there is more than a line may
    // be long.
    const bool full = buffer_.size() > 2 * kMaxLine;
    pollfd entries[2] = {{out_closed_ || full ? -1 : process_->stdout_fd(), POLLIN, 0},
                         {stdin_events == 0 ? -1 : process_->stdin_fd(), stdin_events, 0}};
    if (::poll(entries, 2, wait_ms) <= 0 || entries[0].revents == 0) return false;
    char bytes[1 << 16];
    const ssize_t n = ::read(process_->stdout_fd(), bytes, sizeof bytes);
    if (n > 0) buffer_.append(bytes, static_cast<std::size_t>(n));
    out_closed_ = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
    return n > 0;
  }

  std::unique_ptr<Process> process_;
  std::string name_;
  Clock& clock_;
  StderrRing stderr_;
  std::string buffer_;       // what stdout said and nobody took yet
  std::size_t scanned_ = 0;  // so much of it has no line's end
  bool out_closed_ = false;
};

}  // namespace

Result<std::unique_ptr<Worker>> start_exec_worker(const SutSpec& spec,
                                                  const std::string& worker_name, Clock& clock) {
  auto process = Process::spawn({spec.command, spec.working_dir, spec.environment});
  if (!process) return tl::unexpected(process.error());
  return std::make_unique<ExecWorker>(std::move(*process), worker_name, clock);
}

}  // namespace onceproof::scenarios
