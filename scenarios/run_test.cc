// Whole cells with real processes and sockets, against an executor that is right, wrong, or
// misbehaves: each gets the verdict that it deserves, and leaves nothing behind.
#include "scenarios/run.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/file.h"
#include "scenarios/catalogue.h"
#include "scenarios/scenario_file.h"
#include "scenarios/suts/process.h"

namespace onceproof::scenarios {
namespace {

constexpr const char* kLostReply = R"(
scenario: lost-reply
title: The reply is lost
profiles: [keyed]
intents: {A: {action: create_payment, params: {order_id: "817", amount_minor: 100, currency: RUB}}}
faults: [{at: after_commit, on: {route: create, nth: 1}, do: close}]
steps: [submit: A]
)";

class RunTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(work_.has_value()); }
  // Nothing is left, whatever the SUT did.
  void TearDown() override {
    EXPECT_EQ(own_children(), before_);
    EXPECT_TRUE(std::filesystem::is_empty(work_->path()));
  }

  RunOptions options(const std::string& mode) const {
    RunOptions options;
    options.sut.name = "test-sut";
    options.sut.command = {ONCEPROOF_TEST_SUT, mode};
    options.sut.environment = {{"PATH", "/usr/bin:/bin"}};
    options.sut.start_timeout = Milliseconds{3'000};
    options.sut.answer_timeout = Milliseconds{3'000};
    options.work_dir = work_->path();
    options.jobs = 4;
    return options;
  }

  CellResult run(const std::string& mode, const std::string& yaml = kLostReply) {
    const auto scenario = parse_scenario(yaml, "lost-reply.yaml");
    EXPECT_TRUE(scenario.has_value()) << scenario.error().message;
    auto results =
        run_cells(make_cells({*scenario}, {}, 1), options(mode), clock_, {}, [](const auto&) {});
    EXPECT_TRUE(results.has_value()) << results.error().message;
    return results && results->size() == 1 ? std::move(results->front()) : CellResult{};
  }
  // The verdict is inconclusive and its reason says `what`.
  void expect_inconclusive(const std::string& mode, const std::string& what) {
    const auto result = run(mode);
    EXPECT_EQ(result.verdict.kind, VerdictKind::inconclusive) << mode;
    EXPECT_NE(result.verdict.reason.find(what), std::string::npos)
        << mode << ": " << result.verdict.reason;
  }

  RealClock clock_;
  std::set<pid_t> before_ = own_children();
  Result<TempDir> work_ = TempDir::make("onceproof-run-test");
};

TEST_F(RunTest, ARightExecutorOfAnotherDesignPasses) {
  const auto result = run("right");
  EXPECT_EQ(result.verdict.kind, VerdictKind::pass) << result.verdict.reason;
  EXPECT_EQ(result.history.effects.size(), 1U);
}

TEST_F(RunTest, ANaiveExecutorIsViolated) {
  const auto result = run("naive");
  ASSERT_EQ(result.verdict.kind, VerdictKind::violated);
  bool caught = false;
  for (const auto& violation : result.verdict.violations) {
    caught = caught || violation.invariant == "failure-is-real";
  }
  EXPECT_TRUE(caught);
}

TEST_F(RunTest, AnExecutorThatHangsIsInconclusive) {
  expect_inconclusive("hang-at-init", "did not say ready within");
  expect_inconclusive("hang-at-submit", "did not answer request");
}

TEST_F(RunTest, AnExecutorThatPrintsGarbageIsInconclusive) {
  expect_inconclusive("garbage-at-init", "w1");
  expect_inconclusive("garbage-at-submit", "w1");
  expect_inconclusive("wrong-id", "another id");
  expect_inconclusive("unknown-status", "status 'done'");
  expect_inconclusive("flood-stdout", "w1");
}

TEST_F(RunTest, AnExecutorThatExitsIsInconclusiveWithItsLastWords) {
  expect_inconclusive("exit-at-submit", "out of coffee");
  expect_inconclusive("exit-at-init", "out of coffee");
}

TEST_F(RunTest, AnExecutorThatReportsAnErrorIsInconclusive) {
  expect_inconclusive("error", "the database is away");
}

TEST_F(RunTest, ChattyAndStubbornExecutorsAreBorne) {
  EXPECT_EQ(run("flood-stderr").verdict.kind, VerdictKind::pass);
  EXPECT_EQ(run("ignores-shutdown").verdict.kind, VerdictKind::pass);
}

TEST_F(RunTest, WhatAnExecutorLeavesBehindIsKilled) {
  EXPECT_EQ(run("grandchild").verdict.kind, VerdictKind::pass);
  EXPECT_EQ(run("orphan").verdict.kind, VerdictKind::pass);
}

TEST_F(RunTest, AFaultThatNeverFiresIsInconclusive) {
  std::string yaml = kLostReply;
  yaml.replace(yaml.find("nth: 1"), 6, "nth: 9");
  const auto result = run("right", yaml);
  EXPECT_EQ(result.verdict.kind, VerdictKind::inconclusive);
  EXPECT_NE(result.verdict.reason.find("never fired"), std::string::npos);
}

TEST_F(RunTest, AStepThatTheExecutorDoesNotOfferIsUnsupported) {
  const auto result = run("submit-only", std::string(kLostReply) + "  \n");
  EXPECT_EQ(result.verdict.kind, VerdictKind::pass) << result.verdict.reason;
  std::string yaml = kLostReply;
  yaml.replace(yaml.find("[submit: A]"), 11, "[submit: A, reconcile: once]");
  const auto needs = run("submit-only", yaml);
  EXPECT_EQ(needs.verdict.kind, VerdictKind::unsupported);
  EXPECT_NE(needs.verdict.reason.find("'reconcile'"), std::string::npos);
}

TEST_F(RunTest, ACommandThatCannotBeStartedIsAnError) {
  const auto scenario = parse_scenario(kLostReply, "s.yaml");
  auto wrong = options("right");
  wrong.sut.command = {"/no/such/program"};
  const auto results =
      run_cells(make_cells({*scenario}, {}, 1), wrong, clock_, {}, [](const auto&) {});
  ASSERT_FALSE(results.has_value());
  EXPECT_EQ(results.error().code, ErrorCode::sut_failed);
  EXPECT_NE(results.error().message.find("/no/such/program"), std::string::npos);
}

TEST_F(RunTest, AStopEndsARunThatHangs) {
  const auto scenario = parse_scenario(kLostReply, "s.yaml");
  auto hanging = options("hang-at-submit");
  hanging.sut.answer_timeout = Milliseconds{60'000};
  std::stop_source stop;
  std::jthread interrupter([&] {
    clock_.wait_for(Milliseconds{300});
    stop.request_stop();
  });
  const auto begun = clock_.monotonic();
  const auto results = run_cells(make_cells({*scenario}, {}, 1), hanging, clock_, stop.get_token(),
                                 [](const auto&) {});
  ASSERT_FALSE(results.has_value());
  EXPECT_EQ(results.error().code, ErrorCode::interrupted);
  EXPECT_LT(clock_.monotonic() - begun, Milliseconds{20'000});
}

TEST_F(RunTest, CellsOfOneIdShareNothing) {
  const std::vector<Scenario> twice(4, parse_scenario(kLostReply, "s.yaml").value());
  const auto results =
      run_cells(make_cells(twice, {}, 1), options("right"), clock_, {}, [](const auto&) {});
  ASSERT_TRUE(results.has_value()) << results.error().message;
  ASSERT_EQ(results->size(), 4U);
  for (const auto& result : *results) EXPECT_EQ(result.verdict.kind, VerdictKind::pass);
}

TEST_F(RunTest, FailFastStartsNoMoreCells) {
  auto scenario = parse_scenario(kLostReply, "s.yaml").value();
  std::vector<Scenario> many(6, scenario);
  auto once = options("naive");
  once.fail_fast = true;
  once.jobs = 1;
  const auto results = run_cells(make_cells(many, {}, 1), once, clock_, {}, [](const auto&) {});
  ASSERT_TRUE(results.has_value()) << results.error().message;
  EXPECT_EQ(results->size(), 1U);
}

TEST_F(RunTest, CellsAreChosenByGlobsAndTheirSeedsStay) {
  const auto catalogue = load_catalogue().value();
  const auto all = make_cells(catalogue, {}, 1);
  const auto blind = make_cells(catalogue, {"payments/two-workers/blind"}, 1);
  ASSERT_EQ(blind.size(), 1U);
  for (const auto& cell : all) {
    if (cell.id() == blind[0].id()) {
      EXPECT_EQ(cell.seed, blind[0].seed);
    }
  }
  EXPECT_NE(make_cells(catalogue, {"payments/two-workers/blind"}, 2)[0].seed, blind[0].seed);
  EXPECT_TRUE(make_cells(catalogue, {"nothing/*"}, 1).empty());
}

}  // namespace
}  // namespace onceproof::scenarios
