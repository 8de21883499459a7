// The program as its users meet it: exit codes, messages, reports, mutants, Ctrl-C.
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/json.h"
#include "cli/cli_fixture.h"
#include "scenarios/mutants/mutants.h"

namespace onceproof::cli {
namespace {

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
  expect_unusable({"run", "--timeout", "0s"}, "'0s' is no time at all");
  expect_unusable({"run", "--seed", "-1"}, "'-1' is not a whole number from 0");
  expect_unusable({"run", "--seed", "18446744073709551616"}, "is not a whole number from 0");
  expect_unusable({"run", "--filter", "nothing/*"}, "no cell matches");
  expect_unusable({"run", "--mutant", "no-such"}, "there are: new-key-per-retry");
  expect_unusable({"run", "--sut", "sut.yaml", "two-workers"}, "/no/such");
  expect_unusable({"run", "--sut", "missing.yaml"}, "missing.yaml");
  expect_unusable({"run", "--out", "/proc/nowhere", "guide-lost-response-control"},
                  "/proc/nowhere");
  expect_unusable({"serve", "--profile", "keyd"}, "there are: keyed");
  expect_unusable({"serve", "--ledger", "/proc/nowhere/l.db"}, "/proc/nowhere/l.db");
  expect_unusable({"serve", "--bind", "0.0.0.0"}, "token");
  expect_unusable({"serve", "--fault", "*.*@nowhere close"}, "column 5: unknown point 'nowhere'");
  expect_unusable({}, "subcommand");
}

TEST_F(CliTest, AReportFollowsALinkAndGoesThroughAPipe) {
  std::filesystem::create_directory(path("folder"));
  std::filesystem::create_symlink("folder/target", path("link"));
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  const UniqueFd reader(::open(path("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const auto ended = call({"run", "guide-lost-response-control", "--filter", "*/keyed", "--quiet",
                           "--json", "link", "--junit", "fifo"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_TRUE(parse_json(read_file(path("folder/target")).value()).has_value());
  EXPECT_TRUE(std::filesystem::is_fifo(path("fifo")));
  char bytes[64];
  const auto n = ::read(reader.get(), bytes, sizeof bytes);
  ASSERT_GT(n, 0);
  EXPECT_TRUE(std::string(bytes, static_cast<std::size_t>(n)).starts_with("<?xml"));
}

TEST_F(CliTest, AReportsFileThatCannotBeIsRefusedBeforeTheRun) {
  std::filesystem::create_symlink("x.json", path("link"));
  expect_unusable({"run", "--json", "x.json", "--junit", "./x.json"}, "name the same file");
  expect_unusable({"run", "--json", "link", "--junit", "x.json"}, "name the same file");
  expect_unusable({"run", "--json", "tmp"}, "cannot write tmp: Is a directory");
  EXPECT_FALSE(std::filesystem::exists(path("onceproof-reports")));
}

TEST_F(CliTest, AScenarioThatIsNamedTwiceIsRunOnce) {
  const std::string yaml =
      "scenario: mine\ntitle: t\nprofiles: [keyed]\nintents: {A: {action: create_payment, "
      "params: {order_id: \"817\", amount_minor: 1, currency: RUB}}}\nsteps: [submit: A]\n";
  ASSERT_TRUE(write_file(path("a.yaml"), yaml).has_value());
  ASSERT_TRUE(write_file(path("b.yaml"), yaml).has_value());
  const auto ended = call({"run", "guide-lost-response", "a.yaml", "guide-lost-response",
                           "./a.yaml", "--filter", "*/keyed", "--json", "r.json"});
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_EQ(parse_json(read_file(path("r.json")).value()).value()["summary"]["cells"], 2);
  expect_unusable({"run", "a.yaml", "b.yaml"}, "a.yaml and b.yaml are both called 'mine'");
}

TEST_F(CliTest, ALimitOnFileSizesIsAnErrorAndNoDeath) {
  const auto ended = call_any(
      {"/bin/sh", "-c", "ulimit -f 1; exec \"$0\" list --json > list.json", ONCEPROOF_BINARY});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("stdout could not be written: File too large"), std::string::npos)
      << ended.err;
}

TEST_F(CliTest, AReaderThatWentAwayIsNoMistake) {
  const auto ended =
      call_any({"/bin/bash", "-c", "\"$0\" list --json | exec true; exit ${PIPESTATUS[0]}",
                ONCEPROOF_BINARY});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "");
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
  const auto said = read_until(*process, "Ctrl-C");
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

TEST_F(CliTest, APolicyThatIsAPipeIsRefusedUnlessItIsStdin) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  expect_unusable({"policy", "check", "fifo"}, "cannot read fifo: it is no regular file");
  const auto process = start({"policy", "check", "/dev/stdin"});
  const std::string yaml = "tool_policy: {create_payment: {}}\n";
  ASSERT_GT(::write(process->stdin_fd(), yaml.data(), yaml.size()), 0);
  process->close_stdin();
  EXPECT_EQ(finish(*process).code, 0);
}

TEST_F(CliTest, WhatAPolicySaysReachesNoTerminalRaw) {
  ASSERT_TRUE(
      write_file(path("p.yaml"), "tool_policy: {\"p\\e[31mX\": {result_fields: [\"a\\e[2J\"]}}\n")
          .has_value());
  const auto ended = call({"policy", "check", "p.yaml"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out.find('\x1b'), std::string::npos);
  EXPECT_NE(ended.out.find("p\\x1b[31mX\n"), std::string::npos) << ended.out;
}

TEST_F(CliTest, ListAndErrorsAreTheTables) {
  const auto list = parse_json(call({"list", "--json"}).out).value();
  EXPECT_EQ(list["mutants"].size(), scenarios::mutants().size());
  EXPECT_GE(list["invariants"].size(), 10U);
  const auto page =
      read_file(std::filesystem::path(ONCEPROOF_SOURCE_DIR) / "docs/errors.md").value();
  EXPECT_TRUE(page.ends_with(call({"errors"}).out)) << "docs/errors.md: onceproof errors";
}

// Also a SUT that looks at nothing and a descendant of it that left its group.
TEST_F(CliTest, ARunThatIsKilledWithNineLeavesNothing) {
  ASSERT_TRUE(
      write_file(path("sut.sh"),
                 "trap '' TERM HUP\nsetsid sleep 1000 &\necho $! >strays\necho $$ >pid.new\n"
                 "mv pid.new pid\nwhile :; do sleep 1000; done\n")
          .has_value());
  ASSERT_TRUE(
      write_file(path("onceproof.yaml"), "name: deaf\nadapter: exec\ncommand: [sh, sut.sh]\n")
          .has_value());
  const auto run = start({"run", "guide-lost-response", "--filter", "*/keyed", "--sut",
                          "onceproof.yaml", "--timeout", "60s"});
  RealClock clock;
  const auto until = [&](const std::function<bool()>& true_at_last) {
    for (int i = 0; i < 1'000 && !true_at_last(); ++i) clock.wait_for(Milliseconds{10});
    return true_at_last();
  };
  ASSERT_TRUE(until([&] { return std::filesystem::exists(path("pid")); }));
  const int pid = std::stoi(read_file(path("pid")).value());
  const int stray = std::stoi(read_file(path("strays")).value());
  EXPECT_FALSE(std::filesystem::is_empty(tmp()));
  ASSERT_EQ(::kill(run->pid(), SIGKILL), 0);
  EXPECT_TRUE(until([&] { return ::kill(pid, 0) != 0 && ::kill(stray, 0) != 0; }));
  EXPECT_TRUE(until([&] { return std::filesystem::is_empty(tmp()); }));
}

TEST_F(CliTest, TheWatchdogTouchesNoFolderButARuns) {
  std::filesystem::create_directory(path("onceproof-precious"));
  expect_unusable({"watchdog", path("onceproof-precious")}, "no folder of a run");
  expect_unusable({"watchdog", "/"}, "no folder of a run");
  EXPECT_TRUE(std::filesystem::exists(path("onceproof-precious")));
}

}  // namespace
}  // namespace onceproof::cli
