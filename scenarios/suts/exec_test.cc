// The adapter against a worker that misbehaves in every way it can: each is told apart, in time,
// and leaves no process.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/file.h"
#include "scenarios/suts/process.h"
#include "scenarios/suts/sut.h"

namespace onceproof::scenarios {
namespace {

constexpr Milliseconds kPatience{20'000};

class ExecTest : public testing::Test {
 protected:
  void TearDown() override {
    worker_.reset();
    EXPECT_EQ(own_children(), before_);
  }

  void start(std::vector<std::string> command) {
    SutSpec spec;
    spec.command = std::move(command);
    auto worker = start_exec_worker(spec, "w1", clock_);
    ASSERT_TRUE(worker.has_value()) << worker.error().message;
    worker_ = std::move(*worker);
  }
  void start_mode(const std::string& mode) { start({ONCEPROOF_TEST_SUT, mode}); }

  // The answer to `message`, or the error of sending or receiving.
  Result<Json> ask(const Json& message, Milliseconds patience = kPatience) {
    if (auto sent = worker_->send(message); !sent) return tl::unexpected(sent.error());
    return worker_->receive(clock_.monotonic() + patience, {});
  }
  Result<Json> init(Milliseconds patience = kPatience) {
    return ask({{"type", "init"},
                {"worker", "w1"},
                {"state_dir", state_->path().string()},
                {"services", {{"payments", {{"url", "http://127.0.0.1:1/w1"}}}}},
                {"times", {{"call_timeout_ms", 100}}}},
               patience);
  }
  Result<Json> submit(std::int64_t id, Milliseconds patience = kPatience) {
    return ask({{"type", "submit"},
                {"id", id},
                {"tenant", "t1"},
                {"intent", "i"},
                {"action", "create_payment"},
                {"params", {{"order_id", "817"}}}},
               patience);
  }

  OrphanGuard guard_;
  RealClock clock_;
  std::set<pid_t> before_ = own_children();
  Result<TempDir> state_ = TempDir::make("onceproof-exec-test");
  std::unique_ptr<Worker> worker_;
};

TEST_F(ExecTest, SpeaksWithAWorkerAndEndsItWhenAsked) {
  start_mode("right");
  const auto ready = init();
  ASSERT_TRUE(ready.has_value()) << ready.error().message;
  EXPECT_EQ(find_string(*ready, "type"), "ready");
  const auto answer = submit(7);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(find_integer(*answer, "id"), 7);
  const auto ending = worker_->stop(kPatience);
  EXPECT_EQ(ending.how, "exit code 0");
  EXPECT_FALSE(ending.needed_force);
  EXPECT_EQ(ending.unasked, "");
}

TEST_F(ExecTest, AHangEndsInATimeOut) {
  start_mode("hang-at-submit");
  ASSERT_TRUE(init().has_value());
  const auto answer = submit(1, Milliseconds{50});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::timed_out);
}

TEST_F(ExecTest, GarbageIsShownEscaped) {
  start_mode("garbage-at-init");
  const auto ready = init();
  ASSERT_FALSE(ready.has_value());
  EXPECT_EQ(ready.error().code, ErrorCode::sut_failed);
  EXPECT_EQ(ready.error().message,
            "worker w1 wrote a line on stdout that is no JSON object: 'all is well \\x1b[31m'; "
            "log to stderr");
}

TEST_F(ExecTest, AnExitInTheMiddleOfAnAnswerTellsHowAndKeepsTheLastWords) {
  start_mode("exit-at-submit");
  ASSERT_TRUE(init().has_value());
  const auto answer = submit(1);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().message, "worker w1 ended unasked: exit code 3");
  EXPECT_EQ(worker_->stderr_tail(), "test_sut: out of coffee\n");
}

TEST_F(ExecTest, TheDeathOfAWorkerIsSeenAlthoughADescendantHoldsItsStdout) {
  start({"/bin/sh", "-c", "sleep 1000 & exit 3"});
  const auto ready = worker_->receive(clock_.monotonic() + kPatience, {});
  ASSERT_FALSE(ready.has_value());
  EXPECT_EQ(ready.error().message, "worker w1 ended unasked: exit code 3");
}

TEST_F(ExecTest, AFloodOnStdoutIsCutOff) {
  start_mode("flood-stdout");
  const auto ready = init();
  ASSERT_FALSE(ready.has_value());
  EXPECT_EQ(ready.error().message, "worker w1 wrote a line of more than 1048576 bytes on stdout");
}

TEST_F(ExecTest, AFloodOnStderrBlocksNobody) {
  start_mode("flood-stderr");
  ASSERT_TRUE(init().has_value());
  ASSERT_TRUE(submit(1).has_value());
  worker_->stop(kPatience);
  EXPECT_EQ(worker_->stderr_tail(), std::string(4096, 'x'));
}

TEST_F(ExecTest, AClosedStdinIsAnErrorAndNoSignal) {
  start_mode("closes-stdin");
  ASSERT_TRUE(init().has_value());
  Result<void> sent;
  for (int i = 0; i < 2'000 && sent; ++i) {  // it says ready before it closes
    sent = worker_->send({{"type", "status"}, {"id", i}});
    clock_.wait_for(Milliseconds{1});
  }
  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().message, "worker w1 closed its stdin");
}

TEST_F(ExecTest, AClosedStdoutIsNoAnswer) {
  start_mode("closes-stdout");
  ASSERT_TRUE(init().has_value());
  const auto answer = worker_->receive(clock_.monotonic() + kPatience, {});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().message, "worker w1 closed its stdout but runs on");
}

TEST_F(ExecTest, AWorkerThatReadsNothingIsGivenUp) {
  start({"/bin/sh", "-c", "sleep 1000"});
  const auto sent = worker_->send({{"type", "submit"}, {"params", std::string(1 << 19, 'x')}});
  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().message, "worker w1 does not read its stdin");
}

TEST_F(ExecTest, AWorkerThatIgnoresShutdownIsKilled) {
  start_mode("ignores-shutdown");
  ASSERT_TRUE(init().has_value());
  const auto ending = worker_->stop(Milliseconds{50});
  EXPECT_TRUE(ending.needed_force);
  EXPECT_EQ(ending.how, "signal 9 (SIGKILL)");
}

TEST_F(ExecTest, ASecondAnswerIsFoundAtTheEnd) {
  start_mode("answers-twice");
  ASSERT_TRUE(init().has_value());
  ASSERT_TRUE(submit(1).has_value());
  const auto ending = worker_->stop(kPatience);
  EXPECT_NE(ending.unasked.find("\"type\":\"answer\""), std::string::npos) << ending.unasked;
}

TEST_F(ExecTest, AKillFromAnotherThreadEndsTheWait) {
  start_mode("hang-at-submit");
  ASSERT_TRUE(init().has_value());
  std::jthread killer([this] { worker_->kill(); });
  const auto answer = submit(1);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::sut_failed);
}

TEST_F(ExecTest, AStopEndsTheWait) {
  start_mode("hang-at-init");
  std::stop_source stop;
  stop.request_stop();
  ASSERT_TRUE(worker_->send({{"type", "init"}}).has_value());
  const auto answer = worker_->receive(clock_.monotonic() + kPatience, stop.get_token());
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::interrupted);
}

TEST_F(ExecTest, AGrandchildInASessionOfItsOwnDiesWithItsWorker) {
  start_mode("grandchild");
  ASSERT_TRUE(init().has_value());
  const auto note = state_->path() / "stray.pid";
  for (int i = 0; i < 2'000 && !std::filesystem::exists(note); ++i)
    clock_.wait_for(Milliseconds{1});
  const auto pid = read_file(note);
  ASSERT_TRUE(pid.has_value());
  ASSERT_TRUE(std::filesystem::exists("/proc/" + *pid));
  worker_->stop(kPatience);
  EXPECT_FALSE(std::filesystem::exists("/proc/" + *pid));
}

}  // namespace
}  // namespace onceproof::scenarios
