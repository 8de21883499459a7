#include "reference/retention.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "reference/journal_samples.h"
#include "reference/memory_journal.h"
#include "reference/sqlite_journal.h"

namespace onceproof {
namespace {

using namespace std::chrono_literals;

Policy policy_with(Milliseconds retry_horizon) {
  Policy policy;
  policy.tools["create_payment"].retry_horizon = retry_horizon;
  return policy;
}

Guarantees window_of(Milliseconds window) {
  Guarantees guarantees;
  guarantees.key_dedup = KeyDedup{.window = window};
  return guarantees;
}

TEST(RetentionTest, TheShortestAgeIsTheProvidersMemoryPlusTheCallers) {
  const auto policy = policy_with(24h * 7);
  EXPECT_EQ(shortest_safe_age(policy.tools.at("create_payment"), window_of(24h)), 24h * 8);
  EXPECT_EQ(shortest_safe_age(policy.tools.at("create_payment"), Guarantees{}), 24h * 7);
}

TEST(RetentionTest, AShorterAgeIsRefusedWithTheReason) {
  MemoryJournal journal;
  const auto done = purge(journal, {"create_payment", 24h * 8 - 1ms, at(0s)}, policy_with(24h * 7),
                          window_of(24h));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(done.error().message.find("must live at least 192 h after their end"),
            std::string::npos)
      << done.error().message;
  EXPECT_NE(done.error().message.find("remembers keys for 24 h"), std::string::npos);
  EXPECT_NE(done.error().message.find("for 168 h (retry_horizon)"), std::string::npos);
  EXPECT_TRUE(
      purge(journal, {"create_payment", 24h * 8, at(0s)}, policy_with(24h * 7), window_of(24h)));
}

TEST(RetentionTest, ThereIsNoDefaultAge) {
  MemoryJournal journal;
  EXPECT_FALSE(
      purge(journal, {.action = "create_payment", .now = at(24h * 365)}, policy_with(1ms), {}));
}

TEST(RetentionTest, AnActionWithoutPolicyIsNotTouched) {
  MemoryJournal journal;
  const auto done = purge(journal, {"send_email", 24h * 365, at(0s)}, policy_with(1h), {});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::not_found);
}

template <typename T>
class PurgeTest : public ::testing::Test {};

struct Memory {
  MemoryJournal journal;
};
struct Sqlite {
  TempDir dir = std::move(TempDir::make("onceproof-retention").value());
  std::unique_ptr<SqliteJournal> opened =
      SqliteJournal::open(dir.path() / "j.db", {.durability = Durability::fast}).value();
  SqliteJournal& journal = *opened;
};
using Journals = ::testing::Types<Memory, Sqlite>;
TYPED_TEST_SUITE(PurgeTest, Journals);

// 1 pending, 2 in progress, 3 unknown, 4 in review, 5 succeeded at 100 s, 6 failed at 100 s, 7
// succeeded at 101 s, 8 another action
template <typename J>
void fill(J& journal) {
  for (int n = 1; n <= 8; ++n) {
    Operation operation = sample(n);
    if (n == 8) operation.action_type = "send_email";
    if (n == 1) {
      journal.register_operation(operation, "w1").value();
      continue;
    }
    journal.register_and_claim(operation, "w1", at(30s)).value();
    if (n == 3 || n == 4) journal.mark_unknown(key(n), 1, "timeout", at(10s), at(5s), "w1").value();
    if (n == 4) journal.escalate(key(n), 1, "unknown_after", at(9s), "w1").value();
    if (n == 6) journal.mark_failed_final(key(n), 1, {"declined"}, at(100s), "w1").value();
    const auto end = n == 7 ? at(101s) : at(100s);
    if (n == 5 || n >= 7) journal.mark_succeeded(key(n), 1, {"pay_1", nullptr}, end, "w1").value();
  }
}

TYPED_TEST(PurgeTest, OnlyWhatEndedBeforeTheAgeGoesAndItsEventsGoToo) {
  TypeParam world;
  auto& journal = world.journal;
  fill(journal);
  // 1 h after 100 s: what ended at 100 s is exactly that old, which is not older.
  EXPECT_EQ(purge(journal, {"create_payment", 1h, at(1h + 100s)}, policy_with(1h), {}).value(), 0u);
  EXPECT_EQ(purge(journal, {"create_payment", 1h, at(1h + 101s)}, policy_with(1h), {}).value(), 2u);
  EXPECT_EQ(keys_of(journal.list({.limit = 100}).value()),
            "op_0001 op_0002 op_0003 op_0004 op_0007 op_0008 ");
  EXPECT_TRUE(journal.events(key(5)).value().empty());
  EXPECT_EQ(journal.events(key(7)).value().size(), 3u);
  EXPECT_EQ(journal.find("t1", "create_payment", sample(5).intent_id).value(), std::nullopt);
}

TYPED_TEST(PurgeTest, WhatIsNotTerminalStaysAtAnyAge) {
  TypeParam world;
  auto& journal = world.journal;
  fill(journal);
  EXPECT_EQ(purge(journal, {"create_payment", 1h, at(24h * 10'000)}, policy_with(1h), {}).value(),
            3u);
  EXPECT_EQ(keys_of(journal.list({.limit = 100}).value()),
            "op_0001 op_0002 op_0003 op_0004 op_0008 ");
}

TYPED_TEST(PurgeTest, BatchesGoOnUntilNothingIsLeft) {
  TypeParam world;
  auto& journal = world.journal;
  for (int n = 1; n <= 25; ++n) {
    journal.register_and_claim(sample(n), "w1", at(30s)).value();
    journal.mark_succeeded(key(n), 1, {"pay_1", nullptr}, at(100s), "w1").value();
  }
  const PurgeRequest request{"create_payment", 1h, at(2h), 10};
  EXPECT_EQ(journal.purge_terminal("create_payment", at(1h), 10).value(), 10u);
  EXPECT_EQ(purge(journal, request, policy_with(1h), {}).value(), 15u);
  EXPECT_EQ(purge(journal, request, policy_with(1h), {}).value(), 0u);
  // A purged intent is new again: that is what the age guards.
  EXPECT_TRUE(journal.register_operation(sample(1), "w1").value().created);
  EXPECT_EQ(journal.events(key(1)).value().size(), 1u);
}

// Without its answer the next submit of the plan would take the step once more.
TYPED_TEST(PurgeTest, StepsOfAnOpenPlanStayAtAnyAge) {
  TypeParam world;
  auto& journal = world.journal;
  Operation plan = sample(1);
  plan.action_type = "book_trip";
  journal.register_operation(plan, "w1").value();
  Operation step = sample(2);
  step.parent_key = key(1);
  journal.register_and_claim(step, "w1", at(30s)).value();
  journal.mark_succeeded(key(2), 1, {"pay_1", nullptr}, at(100s), "w1").value();
  EXPECT_EQ(journal.purge_terminal("create_payment", at(24h * 10'000), 10).value(), 0u);
  journal.mark_succeeded(key(1), 0, {key(1), nullptr}, at(200s), "w1").value();
  EXPECT_EQ(journal.purge_terminal("create_payment", at(24h * 10'000), 10).value(), 1u);
}

TYPED_TEST(PurgeTest, APlansRecordLivesAsLongAsThatOfAnyTool) {
  TypeParam world;
  auto& journal = world.journal;
  Operation plan = sample(1);
  plan.action_type = "book_trip";
  journal.register_operation(plan, "w1").value();
  journal.mark_succeeded(key(1), 0, {key(1), nullptr}, at(100s), "w1").value();
  PolicyFile file;
  file.policy = policy_with(1h);
  file.policy.tools["send_email"].retry_horizon = 2h;
  const auto refused = purge_plans(journal, {"book_trip", 1h, at(24h)}, file);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("at least 2 h"), std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(purge_plans(journal, {"create_payment", 24h, at(48h)}, file));
  EXPECT_EQ(purge_plans(journal, {"book_trip", 2h, at(24h)}, file).value(), 1u);
}

}  // namespace
}  // namespace onceproof
