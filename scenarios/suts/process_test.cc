#include "scenarios/suts/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

namespace onceproof::scenarios {
namespace {

constexpr int kPatienceMs = 20'000;

// All that comes until the end of the stream, or its first line.
std::string read_from(int fd, bool line_only) {
  std::string text;
  char byte = 0;
  pollfd entry{fd, POLLIN, 0};
  while (::poll(&entry, 1, kPatienceMs) == 1 && ::read(fd, &byte, 1) == 1) {
    if (line_only && byte == '\n') break;
    text += byte;
  }
  return text;
}

std::unique_ptr<Process> shell(const std::string& script, std::map<std::string, std::string> env = {
                                                              {"PATH", "/usr/bin:/bin"}}) {
  auto process = Process::spawn({{"/bin/sh", "-c", script}, {}, std::move(env)});
  EXPECT_TRUE(process.has_value()) << process.error().message;
  return std::move(*process);
}

bool exists(const std::string& pid) {
  return std::filesystem::exists("/proc/" + pid);
}

TEST(ProcessTest, ACommandThatIsNotThereIsAnErrorThatNamesIt) {
  const auto process = Process::spawn({{"onceproof-no-such-command"}, {}, {}});
  ASSERT_FALSE(process.has_value());
  EXPECT_EQ(process.error().code, ErrorCode::sut_failed);
  EXPECT_EQ(process.error().message,
            "cannot start 'onceproof-no-such-command': No such file or directory");
}

TEST(ProcessTest, ACommandThatMayNotBeRunIsAnErrorThatNamesIt) {
  const auto process = Process::spawn({{"/etc/passwd"}, {}, {}});
  ASSERT_FALSE(process.has_value());
  EXPECT_EQ(process.error().message, "cannot start '/etc/passwd': Permission denied");
}

TEST(ProcessTest, AFolderThatIsNotThereIsAnErrorThatNamesIt) {
  const auto process = Process::spawn({{"/bin/true"}, "/no/such/folder", {}});
  ASSERT_FALSE(process.has_value());
  EXPECT_EQ(process.error().message,
            "cannot start '/bin/true': working_dir /no/such/folder is no folder");
}

TEST(ProcessTest, RunsInItsFolderWithExactlyItsEnvironment) {
  const auto process =
      Process::spawn({{"/bin/sh", "-c", "pwd; /usr/bin/env"}, "/usr", {{"A", "1 2"}}});
  ASSERT_TRUE(process.has_value());
  const auto text = read_from((*process)->stdout_fd(), false);
  EXPECT_TRUE(text.starts_with("/usr\n")) << text;
  EXPECT_NE(text.find("A=1 2\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("HOME="), std::string::npos) << text;  // env prints PWD, which sh adds
}

TEST(ProcessTest, TellsHowItEnded) {
  RealClock clock;
  EXPECT_EQ(shell("exit 3")->wait(Milliseconds{kPatienceMs}, clock), "exit code 3");
  const auto sleeper = shell("sleep 1000");
  EXPECT_EQ(sleeper->wait(Milliseconds{0}, clock), std::nullopt);
  sleeper->kill();
  sleeper->kill();
  EXPECT_FALSE(sleeper->alive());
  EXPECT_EQ(sleeper->wait(Milliseconds{0}, clock), "signal 9 (SIGKILL)");
}

TEST(ProcessTest, InheritsNoDescriptorAndNoIgnoredSignal) {
  RealClock clock;
  const UniqueFd leaky(::fcntl(STDERR_FILENO, F_DUPFD, 57));  // without CLOEXEC
  ASSERT_GE(leaky.get(), 57);
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  const auto before_size = ::signal(SIGXFSZ, SIG_IGN);
  const auto lister = shell("exec ls /proc/self/fd");
  EXPECT_EQ(read_from(lister->stdout_fd(), false), "0\n1\n2\n3\n");  // 3 is the folder it lists
  EXPECT_EQ(shell("kill -PIPE $$; sleep 1000")->wait(Milliseconds{kPatienceMs}, clock),
            "signal 13 (SIGPIPE)");
  EXPECT_EQ(shell("kill -XFSZ $$; sleep 1000")->wait(Milliseconds{kPatienceMs}, clock),
            "signal 25 (SIGXFSZ)");
  ::signal(SIGXFSZ, before_size);
  ::signal(SIGPIPE, before);
}

TEST(ProcessTest, ItsWholeGroupDiesWithIt) {
  const OrphanGuard guard;
  const auto process = shell("sleep 1000 & echo $!; wait");
  const auto child = read_from(process->stdout_fd(), true);
  ASSERT_TRUE(exists(child));
  process->kill();
  EXPECT_FALSE(exists(child));
  EXPECT_FALSE(exists(std::to_string(process->pid())));
}

TEST(ProcessTest, TheGroupDiesWhenItsLeaderEndsByItself) {
  RealClock clock;
  const OrphanGuard guard;
  const auto process = shell("sleep 1000 & echo $!; exit 0");
  const auto child = read_from(process->stdout_fd(), true);
  EXPECT_EQ(process->wait(Milliseconds{kPatienceMs}, clock), "exit code 0");
  EXPECT_FALSE(exists(child));
}

TEST(ProcessTest, ADescendantThatLeftTheGroupDiesWithIt) {
  const OrphanGuard guard;
  const auto process = shell("setsid sh -c 'echo $$; exec sleep 1000' & wait");
  const auto stray = read_from(process->stdout_fd(), true);
  ASSERT_TRUE(exists(stray));
  process->kill();
  EXPECT_FALSE(exists(stray));
}

TEST(OrphanGuardTest, WhatLeftGroupAndParentsDiesWithTheGuard) {
  std::string orphan;
  {
    const OrphanGuard guard;
    const auto process = shell("(setsid sh -c 'echo $$; exec sleep 1000' &)");
    orphan = read_from(process->stdout_fd(), true);
    RealClock clock;
    EXPECT_EQ(process->wait(Milliseconds{kPatienceMs}, clock), "exit code 0");
    ASSERT_TRUE(exists(orphan));
    ASSERT_TRUE(own_children().contains(std::stoi(orphan)));
  }
  EXPECT_FALSE(exists(orphan));
}

TEST(OrphanGuardTest, SparesTheChildrenThatWereThereBefore) {
  const auto older = shell("sleep 1000");
  { const OrphanGuard guard; }
  EXPECT_TRUE(older->alive());
}

}  // namespace
}  // namespace onceproof::scenarios
