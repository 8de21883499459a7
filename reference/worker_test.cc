// The worker in this process, line by line: each request gets exactly one answer.
#include "reference/worker.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/file.h"

namespace onceproof {
namespace {

class WorkerTest : public ::testing::Test {
 protected:
  struct Ended {
    int code = -1;
    std::vector<Json> answers;
    std::string err;
  };
  Ended run(const std::string& lines) {
    std::istringstream in(lines);
    std::ostringstream out, err;
    Ended ended;
    ended.code = run_worker({in, out, err}, clock_, random_);
    std::istringstream said(out.str());
    std::string line;
    while (std::getline(said, line)) {
      auto json = parse_json(line);
      EXPECT_TRUE(json.has_value()) << line;
      ended.answers.push_back(json.value_or(Json()));
    }
    ended.err = err.str();
    return ended;
  }
  // Nobody listens at the provider's address.
  std::string init(const std::string& state_dir) const {
    return fmt::format(
        R"({{"type":"init","protocol":1,"worker":"w1","state_dir":"{}","services":{{"payments":{{"url":"http://127.0.0.1:1/w1","guarantees":{{"key_dedup":null,"lookup":null,"reference_field":"reference","max_in_flight_ms":50,"no_effect":[{{"status":402}}]}}}}}},"policy":{{"tool_policy":{{"create_payment":{{"fields":{{"amount_minor":["minor_units"]}},"result_fields":[],"call_timeout_ms":100,"lease_ms":300,"unknown_after_ms":500,"check_initial_ms":10,"check_max_ms":50}}}}}},"times":{{"call_timeout_ms":100,"lease_ms":300,"unknown_after_ms":500,"check_initial_ms":10,"check_max_ms":50}}}})"
        "\n",
        state_dir);
  }
  static std::string submit(int id, const std::string& amount) {
    return fmt::format(
        R"({{"type":"submit","id":{},"tenant":"t1","intent":"i","action":"create_payment","params":{{"order_id":"817","amount_minor":{}}}}})"
        "\n",
        id, amount);
  }

  RealClock clock_;
  SystemRandom random_;
  Result<TempDir> state_ = TempDir::make("onceproof-worker-test");
};

TEST_F(WorkerTest, AnswersEachLineWithItsIdAndEndsAtShutdown) {
  const auto ended = run(init(state_->path().string()) + submit(7, "100") + submit(8, "200") +
                         submit(9, "1.5") + "nonsense\n{\"type\":\"dance\",\"id\":3}\n" +
                         R"({"type":"reconcile","id":10})"
                         "\n{\"type\":\"shutdown\"}\n" +
                         submit(11, "100"));
  EXPECT_EQ(ended.code, 0) << ended.err;
  ASSERT_EQ(ended.answers.size(), 7U);
  EXPECT_EQ(ended.answers[0]["type"], "ready");
  EXPECT_EQ(ended.answers[0]["capabilities"].size() >= 3, true);
  EXPECT_EQ(ended.answers[1]["id"], 7);
  EXPECT_EQ(ended.answers[2]["status"], "conflict");
  EXPECT_EQ(ended.answers[3]["type"], "error") << "a float amount";
  EXPECT_EQ(ended.answers[3]["id"], 9);
  EXPECT_EQ(ended.answers[4]["type"], "error");
  EXPECT_EQ(ended.answers[5]["type"], "error");
  EXPECT_EQ(ended.answers[6]["type"], "done");
}

TEST_F(WorkerTest, WhatItLearnedIsThereForTheNextProcess) {
  const auto first = run(init(state_->path().string()) + submit(1, "100"));
  const auto second = run(init(state_->path().string()) + submit(1, "200"));
  EXPECT_EQ(first.code, 0);
  ASSERT_EQ(second.answers.size(), 2U);
  EXPECT_EQ(second.answers[1]["status"], "conflict");
}

TEST_F(WorkerTest, AnUnusableInitIsExitCodeTwoAndSaysWhy) {
  const auto no_folder = run(init("/proc/nowhere") + submit(1, "100"));
  EXPECT_EQ(no_folder.code, 2);
  ASSERT_EQ(no_folder.answers.size(), 1U);
  EXPECT_EQ(no_folder.answers[0]["type"], "error");
  EXPECT_NE(no_folder.err.find("/proc/nowhere"), std::string::npos);
  EXPECT_EQ(run(R"({"type":"init","protocol":9})"
                "\n")
                .code,
            2);
}

TEST_F(WorkerTest, AnInitWhoseMembersAreOfAWrongTypeIsRefusedByName) {
  const std::pair<const char*, const char*> mistakes[] = {
      {R"("policy":5)", R"("policy")"},
      {R"("policy":null)", R"("policy")"},
      {R"("policy":{"tool_policy":5})", "tool_policy"},
      {R"("policy":{"tool_policy":{"create_payment":5}})", "create_payment"},
      {R"("times":7)", R"("times")"},
      {R"("worker":"")", R"("worker")"},
      {R"("services":{"payments":{"url":"http://127.0.0.1:1","guarantees":5}})", "guarantees"},
  };
  for (const auto& [member, named] : mistakes) {
    Json message = parse_json(init(state_->path().string())).value();
    message.update(parse_json(fmt::format("{{{}}}", member)).value());
    const auto ended = run(to_line(message) + "\n");
    EXPECT_EQ(ended.code, 2) << member;
    ASSERT_EQ(ended.answers.size(), 1U) << member;
    EXPECT_EQ(ended.answers[0]["type"], "error") << member;
    EXPECT_NE(ended.err.find(named), std::string::npos) << member << ": " << ended.err;
  }
}

TEST_F(WorkerTest, NothingIsServedBeforeInit) {
  const auto ended = run(submit(1, "100"));
  ASSERT_EQ(ended.answers.size(), 1U);
  EXPECT_EQ(ended.answers[0]["type"], "error");
}

}  // namespace
}  // namespace onceproof
