// The program as its users call it, for the tests of cli/: in a folder of its own, with an
// environment that holds nothing but what a test gives it.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "scenarios/suts/process.h"

namespace onceproof::cli {

using scenarios::Process;
using scenarios::ProcessSpec;
using Environment = std::map<std::string, std::string>;

struct Ended {
  int code = -1;  // stays so if it did not exit by itself
  std::string out, err;
};

class CliTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(work_.has_value());
    std::filesystem::create_directory(tmp());
  }
  std::filesystem::path tmp() const { return work_->path() / "tmp"; }
  std::string path(const std::string& name) const { return (work_->path() / name).string(); }

  std::unique_ptr<Process> start_any(std::vector<std::string> command, Environment more = {}) {
    ProcessSpec spec;
    spec.command = std::move(command);
    spec.working_dir = work_->path();
    spec.env = std::move(more);
    spec.env.insert({{"PATH", "/usr/bin:/bin"}, {"TMPDIR", tmp().string()}});
    auto process = Process::spawn(spec);
    EXPECT_TRUE(process.has_value()) << process.error().message;
    return std::move(*process);
  }
  std::unique_ptr<Process> start(const std::vector<std::string>& args, Environment more = {}) {
    std::vector<std::string> command{ONCEPROOF_BINARY};
    command.insert(command.end(), args.begin(), args.end());
    return start_any(std::move(command), std::move(more));
  }
  // Reads stdout until it has said `what`, or ended.
  std::string read_until(Process& process, const std::string& what) {
    std::string said;
    char bytes[4096];
    while (said.find(what) == std::string::npos) {
      const auto n = ::read(process.stdout_fd(), bytes, sizeof bytes);
      if (n <= 0) break;
      said.append(bytes, static_cast<std::size_t>(n));
    }
    return said;
  }
  // Reads both streams until they end.
  Ended finish(Process& process) {
    Ended ended;
    pollfd entries[2] = {{process.stdout_fd(), POLLIN, 0}, {process.stderr_fd(), POLLIN, 0}};
    char bytes[4096];
    while (entries[0].fd >= 0 || entries[1].fd >= 0) {
      if (::poll(entries, 2, 60'000) <= 0) break;
      for (int i = 0; i < 2; ++i) {
        if (entries[i].fd < 0 || entries[i].revents == 0) continue;
        const auto n = ::read(entries[i].fd, bytes, sizeof bytes);
        if (n <= 0) {
          entries[i].fd = -1;
        } else {
          (i == 0 ? ended.out : ended.err).append(bytes, static_cast<std::size_t>(n));
        }
      }
    }
    const auto how = process.wait(Milliseconds{60'000}, clock_).value_or("did not end");
    if (how.starts_with("exit code ")) ended.code = std::stoi(how.substr(10));
    return ended;
  }
  Ended call_any(std::vector<std::string> command, Environment more = {}) {
    const auto process = start_any(std::move(command), std::move(more));
    process->close_stdin();
    auto ended = finish(*process);
    EXPECT_TRUE(std::filesystem::is_empty(tmp())) << "a temporary file was left";
    return ended;
  }
  Ended call(const std::vector<std::string>& args, Environment more = {}) {
    std::vector<std::string> command{ONCEPROOF_BINARY};
    command.insert(command.end(), args.begin(), args.end());
    return call_any(std::move(command), std::move(more));
  }
  // Exit code 2 and one clear sentence that has `what`.
  void expect_unusable(const std::vector<std::string>& args, const std::string& what,
                       Environment more = {}) {
    const auto ended = call(args, std::move(more));
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_NE(ended.err.find(what), std::string::npos) << ended.err;
    EXPECT_TRUE(ended.err.starts_with("onceproof: ")) << ended.err;
  }

  RealClock clock_;
  Result<TempDir> work_ = TempDir::make("onceproof-cli-test");
};

}  // namespace onceproof::cli
