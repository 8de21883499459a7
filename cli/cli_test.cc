// The program as its users meet it: exit codes, messages, reports, mutants, Ctrl-C.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "scenarios/mutants/mutants.h"
#include "scenarios/suts/process.h"

namespace onceproof::cli {
namespace {

using scenarios::Process;
using scenarios::ProcessSpec;

struct Ended {
  int code = -1;
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

  std::unique_ptr<Process> start(std::vector<std::string> args) {
    ProcessSpec spec;
    spec.command = {ONCEPROOF_BINARY};
    spec.command.insert(spec.command.end(), args.begin(), args.end());
    spec.working_dir = work_->path();
    spec.env = {{"PATH", "/usr/bin:/bin"}, {"TMPDIR", tmp().string()}};
    auto process = Process::spawn(spec);
    EXPECT_TRUE(process.has_value()) << process.error().message;
    return std::move(*process);
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
  Ended call(std::vector<std::string> args) {
    const auto process = start(std::move(args));
    process->close_stdin();
    auto ended = finish(*process);
    EXPECT_TRUE(std::filesystem::is_empty(tmp())) << "a temporary file was left";
    return ended;
  }
  // Exit code 2 and one clear sentence that has `what`.
  void expect_unusable(std::vector<std::string> args, const std::string& what) {
    const auto ended = call(std::move(args));
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_NE(ended.err.find(what), std::string::npos) << ended.err;
    EXPECT_TRUE(ended.err.starts_with("onceproof: ")) << ended.err;
  }

  RealClock clock_;
  Result<TempDir> work_ = TempDir::make("onceproof-cli-test");
};

TEST_F(CliTest, TheWholeCatalogueAgainstTheReferencePasses) {
  const auto ended = call({"run", "--json", "r.json", "--junit", "r.xml"});
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  const auto results = parse_json(read_file(path("r.json")).value()).value();
  EXPECT_EQ(results["schema"], 1);
  EXPECT_EQ(results["sut"]["name"], "reference");
  EXPECT_GE(results["summary"]["cells"].get<int>(), 50);
  EXPECT_EQ(results["summary"]["passed"], results["summary"]["cells"]);
  EXPECT_NE(read_file(path("r.xml"))->find("<testsuites"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(path("onceproof-reports/latest/results.json")));
}

// The alarms ring: each mutant is caught by the invariant that is named for it.
TEST_F(CliTest, EveryMutantIsCaughtAndExplained) {
  for (const auto& mutant : scenarios::mutants()) {
    const std::string name(mutant.name);
    const auto ended = call({"run", "--mutant", name, "--json", "r.json", "guide-lost-response"});
    EXPECT_EQ(ended.code, 1) << ended.out;
    const auto results = parse_json(read_file(path("r.json")).value()).value();
    for (const auto& cell : results["cells"]) {
      EXPECT_EQ(cell["verdict"], "violated") << name << " " << cell["id"];
      bool named = false;
      for (const auto& violation : cell["violations"]) {
        named = named || violation["invariant"] == mutant.caught_by;
      }
      EXPECT_TRUE(named) << name << " " << cell["id"];
      const std::string line = cell["reproduce"];
      EXPECT_NE(line.find("--mutant " + name), std::string::npos);
      EXPECT_NE(ended.out.find("reproduce  " + line), std::string::npos);
    }
    EXPECT_NE(ended.out.find("timeline"), std::string::npos);
    EXPECT_NE(ended.out.find("effect pay_000001 is committed"), std::string::npos);
  }
}

// A right executor of another design, in another language: no alarm rings falsely.
TEST_F(CliTest, ThePythonExamplePassesEverything) {
  const auto manifest = std::string(ONCEPROOF_SOURCE_DIR) + "/examples/python/onceproof.yaml";
  const auto ended = call({"run", "--quiet", "--sut", manifest});
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
}

TEST_F(CliTest, WhatCannotBeUsedIsExitCodeTwoAndOneSentence) {
  ASSERT_TRUE(
      write_file(path("bad.yaml"), "scenario: a\ntitle: t\nprofiles: [keyd]\n").has_value());
  ASSERT_TRUE(
      write_file(path("sut.yaml"), "name: x\nadapter: exec\ncommand: [/no/such]\n").has_value());
  expect_unusable({"run", "no-such-scenario"}, "no scenario 'no-such-scenario'");
  expect_unusable({"run", "bad.yaml"}, "bad.yaml:3:");
  expect_unusable({"run", "missing.yaml"}, "missing.yaml");
  expect_unusable({"run", "--no-such-option"}, "no-such-option");
  expect_unusable({"run", "--jobs", "0"}, "jobs");
  expect_unusable({"run", "--timeout", "5"}, "5");
  expect_unusable({"run", "--filter", "nothing/*"}, "no cell matches");
  expect_unusable({"run", "--mutant", "no-such"}, "there are: new-key-per-retry");
  expect_unusable({"run", "--sut", "sut.yaml", "two-workers"}, "/no/such");
  expect_unusable({"run", "--sut", "missing.yaml"}, "missing.yaml");
  expect_unusable({"run", "--out", "/proc/nowhere", "guide-lost-response-control"},
                  "/proc/nowhere");
  expect_unusable({"serve", "--profile", "keyd"}, "there are: keyed");
  expect_unusable({"serve", "--ledger", "/proc/nowhere/l.db"}, "/proc/nowhere/l.db");
  expect_unusable({"serve", "--bind", "0.0.0.0"}, "token");
  expect_unusable({}, "subcommand");
}

TEST_F(CliTest, ABusyPortIsNamed) {
  UniqueFd taken(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(taken.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(taken.get(), 1), 0);
  socklen_t size = sizeof address;
  ::getsockname(taken.get(), reinterpret_cast<sockaddr*>(&address), &size);
  const auto port = std::to_string(ntohs(address.sin_port));
  expect_unusable({"serve", "--port", port}, port);
}

TEST_F(CliTest, AnUnreadableStateDirIsExitCodeTwoOfTheWorker) {
  const auto process = start({"worker"});
  const std::string init =
      R"({"type":"init","protocol":1,"worker":"w1","state_dir":"/proc/nowhere","services":{},)"
      R"("policy":{"tool_policy":{}},"times":{}})"
      "\n";
  ASSERT_GT(::write(process->stdin_fd(), init.data(), init.size()), 0);
  process->close_stdin();
  const auto ended = finish(*process);
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.out.find("\"type\":\"error\""), std::string::npos) << ended.out;
  EXPECT_NE(ended.err.find("/proc/nowhere"), std::string::npos) << ended.err;
}

TEST_F(CliTest, CtrlCEndsARunAndLeavesNothing) {
  const auto process = start({"run"});
  char byte = 0;
  ASSERT_EQ(::read(process->stdout_fd(), &byte, 1), 1);  // the first cell is done
  ASSERT_EQ(::kill(process->pid(), SIGINT), 0);
  const auto ended = finish(*process);
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_NE(ended.out.find("stopped before all cells were run"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(tmp()));
  EXPECT_TRUE(std::filesystem::exists(path("onceproof-reports/latest/results.json")));
}

TEST_F(CliTest, ServeAnswersUntilCtrlC) {
  const auto process = start({"serve", "--profile", "searchable"});
  std::string said;
  char bytes[4096];
  while (said.find("Ctrl-C") == std::string::npos) {
    const auto n = ::read(process->stdout_fd(), bytes, sizeof bytes);
    ASSERT_GT(n, 0);
    said.append(bytes, static_cast<std::size_t>(n));
  }
  EXPECT_NE(said.find("payments (searchable): http://127.0.0.1:"), std::string::npos);
  ASSERT_EQ(::kill(process->pid(), SIGTERM), 0);
  const auto ended = finish(*process);
  EXPECT_EQ(ended.code, 0);
  EXPECT_NE(ended.out.find("0 requests, 0 effects"), std::string::npos);
}

TEST_F(CliTest, PolicyCheckSaysWhatAPolicyComesToOrWhereItIsWrong) {
  ASSERT_TRUE(write_file(path("policy.yaml"),
                         "tool_policy:\n  create_payment:\n    unknown_after: 15m\n    "
                         "provider: {lookup: {by: reference, complete: true}}\n")
                  .has_value());
  const auto checked = call({"policy", "check", "policy.yaml"});
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_NE(checked.out.find("to review after 15 min"), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("sent again only when absence is proved"), std::string::npos);
  ASSERT_TRUE(
      write_file(path("wrong.yaml"), "tool_policy:\n  create_payment:\n    unknown_aftr: 15m\n")
          .has_value());
  expect_unusable({"policy", "check", "wrong.yaml"}, "wrong.yaml:3:5:");
}

TEST_F(CliTest, ListAndErrorsAreTheTables) {
  const auto list = parse_json(call({"list", "--json"}).out).value();
  EXPECT_EQ(list["mutants"].size(), scenarios::mutants().size());
  EXPECT_GE(list["invariants"].size(), 10U);
  const auto page =
      read_file(std::filesystem::path(ONCEPROOF_SOURCE_DIR) / "docs/errors.md").value();
  EXPECT_TRUE(page.ends_with(call({"errors"}).out)) << "docs/errors.md: onceproof errors";
}

}  // namespace
}  // namespace onceproof::cli
