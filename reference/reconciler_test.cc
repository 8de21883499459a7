// The reconciler: what it settles, what it leaves, and that it never calls.
#include "reference/reconciler.h"

#include <gtest/gtest.h>

#include "reference/executor_world.h"

namespace onceproof {
namespace {

using Reply = LedgerProvider::Reply;
using When = SeamJournal::When;
using S = AnswerStatus;

TEST(ReconcilerTest, SettlesALostReplyWithoutCalling) {
  World world(searchable_guarantees());
  world.provider.replies = {Reply::lost_after_commit};
  const auto worker = world.start("w1");
  worker->submit();
  EXPECT_EQ(worker->reconcile().checked, 0U);  // not due
  EXPECT_EQ(world.provider.finds, 0);
  world.pass(20);
  const auto pass = worker->reconcile();
  EXPECT_EQ(pass.checked, 1U);
  EXPECT_EQ(pass.settled, 1U);
  EXPECT_EQ(worker->status(), S::succeeded);
  EXPECT_EQ(world.operation().external_id, "pay_1");
  EXPECT_EQ(world.operation().result, (Json{{"status", "succeeded"}}));
  EXPECT_EQ(world.provider.calls.size(), 1U);
  EXPECT_EQ(worker->reconcile().checked, 0U);
}

TEST(ReconcilerTest, SettlesACrashAfterTheCommitOnceTheLeaseIsDead) {
  World world(searchable_guarantees());
  world.provider.at = [](std::string_view point) {
    if (point == "committed") throw std::runtime_error("crash");
  };
  EXPECT_THROW(world.start("w1")->submit(), std::runtime_error);
  world.provider.at = nullptr;
  const auto worker = world.start("w2");
  world.pass(600);
  EXPECT_EQ(worker->reconcile().checked, 0U);
  world.pass(1);
  EXPECT_EQ(worker->reconcile().settled, 1U);
  EXPECT_EQ(worker->status(), S::succeeded);
}

TEST(ReconcilerTest, ProvedAbsenceWaitsForTheNextSubmit) {
  World world(searchable_guarantees());
  world.provider.replies = {Reply::lost_before_commit};
  const auto worker = world.start("w1");
  worker->submit();
  for (int i = 0; i < 20 && worker->status() != S::pending; ++i) {
    world.pass(100);
    EXPECT_EQ(worker->reconcile().settled, 0U);
  }
  EXPECT_EQ(worker->status(), S::pending);
  EXPECT_EQ(world.provider.calls.size(), 1U);
  EXPECT_EQ(worker->reconcile().checked, 0U);
  EXPECT_EQ(worker->submit().status, S::succeeded);
  EXPECT_EQ(world.provider.effects.size(), 1U);
}

TEST(ReconcilerTest, ALiveKeyDoesNotMakeItCall) {
  World world(keyed_guarantees());
  world.provider.replies = {Reply::lost_before_commit};
  const auto worker = world.start("w1");
  worker->submit();
  for (int i = 0; i < 5; ++i) {
    world.pass(200);
    EXPECT_EQ(worker->reconcile().settled, 0U);
    EXPECT_EQ(worker->status(), S::unknown);
  }
  EXPECT_EQ(world.provider.calls.size(), 1U);
  world.pass(200);
  EXPECT_EQ(worker->submit().status, S::succeeded);
  EXPECT_EQ(world.provider.calls.size(), 2U);
}

TEST(ReconcilerTest, WhatCannotBeKnownGoesToReviewOnceAndStaysThere) {
  World world(blind_guarantees());
  world.provider.replies = {Reply::lost_after_commit};
  const auto worker = world.start("w1");
  worker->submit();
  std::size_t settled = 0;
  for (int i = 0; i < 40; ++i) {
    world.pass(100);
    settled += worker->reconcile().settled;
  }
  EXPECT_EQ(settled, 1U);
  EXPECT_EQ(worker->status(), S::review);
  EXPECT_EQ(world.count_events("escalated"), 1U);
  EXPECT_EQ(world.operation().status, Status::unknown);
  EXPECT_EQ(world.operation().error_code, "timeout");
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

TEST(ReconcilerTest, ReviewComesWithinOneCheckOfUnknownAfter) {
  World world(blind_guarantees());
  world.provider.replies = {Reply::lost_after_commit};
  const auto worker = world.start("w1");
  worker->submit();  // unknown since 250 ms
  for (int ms = 0; ms < 2'000; ++ms) {
    world.pass(1);
    worker->reconcile();
    ASSERT_EQ(worker->status(), S::unknown) << ms;
  }
  world.pass(1);
  worker->reconcile();
  EXPECT_EQ(worker->status(), S::review);
}

TEST(ReconcilerTest, ChecksBackOff) {
  World world(incomplete_guarantees());
  world.policy.tools["create_payment"].unknown_after = Milliseconds{60'000};
  world.provider.replies = {Reply::lost_before_commit};
  const auto worker = world.start("w1");
  worker->submit();
  for (int ms = 0; ms < 20'000; ++ms) {
    world.pass(1);
    worker->reconcile();
  }
  EXPECT_GE(world.provider.finds, 100);  // every 200 ms at the latest
  EXPECT_LE(world.provider.finds, 400);  // and not the thousand that 20 ms would give
}

TEST(ReconcilerTest, ALookupThatFailsIsTriedAgainLater) {
  World world(searchable_guarantees());
  world.provider.replies = {Reply::lost_after_commit};
  world.provider.on_find = [] {
    LookupResult failed;
    failed.error_code = "http_503";
    return failed;
  };
  const auto worker = world.start("w1");
  worker->submit();
  world.pass(20);
  EXPECT_EQ(worker->reconcile().settled, 0U);
  EXPECT_EQ(world.operation().error_code, "timeout");  // why it became unknown
  EXPECT_EQ(world.operation().check_count, 1);
  world.provider.on_find = nullptr;
  world.pass(200);
  EXPECT_EQ(worker->reconcile().settled, 1U);
}

TEST(ReconcilerTest, TwoReconcilersTakeDifferentOperations) {
  World world(searchable_guarantees());
  const auto first = world.start("w1");
  const auto second = world.start("w2");
  world.provider.replies = {10, Reply::lost_after_commit};
  for (int i = 0; i < 4; ++i) first->submit(payment_intent(std::to_string(i)));
  world.pass(200);
  std::size_t by_second = 99;
  bool nested = false;
  world.provider.at = [&](std::string_view point) {
    if (point != "find" || nested) return;
    nested = true;
    by_second = second->reconcile().checked;
  };
  EXPECT_EQ(first->reconcile().settled, 4U);
  EXPECT_EQ(by_second, 0U);
  EXPECT_EQ(world.provider.finds, 4);
}

TEST(ReconcilerTest, ABatchIsBounded) {
  World world(searchable_guarantees());
  const auto worker = world.start("w1");
  world.provider.replies = {10, Reply::lost_after_commit};
  for (int i = 0; i < 5; ++i) worker->submit(payment_intent(std::to_string(i)));
  world.pass(200);
  EXPECT_EQ(worker->reconciler.run_once(3).value().checked, 3U);
  EXPECT_EQ(worker->reconciler.run_once(3).value().checked, 2U);
  EXPECT_EQ(world.journal.list({.status = Status::succeeded, .limit = 10}).value().size(), 5U);
}

// While it asked, a submit proved absence and called: what the reconciler learned is about an
// attempt that is over.
TEST(ReconcilerTest, WhatItLearnedTooLateBounces) {
  World world(searchable_guarantees());
  world.provider.replies = {Reply::lost_before_commit};
  const auto first = world.start("w1");
  const auto second = world.start("w2");
  first->submit();
  world.pass(900);
  bool nested = false;
  second->journal.at = [&](std::string_view call, When when) -> std::optional<Error> {
    if (call != "release_for_retry" || when != When::before || nested) return {};
    nested = true;
    world.pass(700);  // beyond the hold
    EXPECT_EQ(first->submit().status, S::succeeded);
    return {};
  };
  EXPECT_EQ(second->reconcile().settled, 1U);
  EXPECT_TRUE(nested);
  EXPECT_EQ(world.operation().status, Status::succeeded);
  EXPECT_EQ(world.provider.effects.size(), 1U);
}

TEST(ReconcilerTest, AnActionWithoutPolicyOrProviderIsLeftToOthers) {
  World world(searchable_guarantees());
  world.provider.replies = {Reply::lost_after_commit};
  world.start("w1")->submit();
  world.pass(20);
  MemoryJournal& journal = world.journal;
  const Policy empty;
  Reconciler without_policy({world.clock, journal, world.random, world.protocol, empty, {}, "w2"});
  EXPECT_EQ(without_policy.run_once().value().settled, 0U);
  EXPECT_EQ(world.operation().status, Status::unknown);
  EXPECT_EQ(world.provider.finds, 0);
}

TEST(ReconcilerTest, AnUnavailableJournalIsAnError) {
  World world(searchable_guarantees());
  const auto worker = world.start("w1");
  worker->journal.at = [](std::string_view, When) -> std::optional<Error> {
    return Error{ErrorCode::journal_unavailable, "locked"};
  };
  EXPECT_EQ(worker->reconciler.run_once().error().code, ErrorCode::journal_unavailable);
}

TEST(ReconcilerTest, TheLoopSettlesAndEndsWhenAsked) {
  World world(searchable_guarantees());
  world.provider.replies = {Reply::lost_after_commit};
  const auto worker = world.start("w1");
  worker->submit();
  std::stop_source stop;
  int passes = 0;
  worker->journal.at = [&](std::string_view call, When when) -> std::optional<Error> {
    if (call != "take_due" || when != When::before) return {};
    if (++passes == 2) return Error{ErrorCode::journal_unavailable, "locked"};  // it goes on
    if (passes == 10) stop.request_stop();
    return {};
  };
  worker->reconciler.run(stop.get_token(), Milliseconds{10});  // virtual time: a wait advances it
  EXPECT_EQ(passes, 10);
  EXPECT_EQ(world.operation().status, Status::succeeded);
}

TEST(ReconcilerTest, TwoEffectsThatALookupShowsGoToAPersonAtOnce) {
  World world(searchable_guarantees());
  world.provider.replies = {Reply::lost_after_commit};
  const auto worker = world.start("w1");
  worker->submit();
  world.provider.on_find = [] {
    LookupResult found;
    found.kind = LookupKind::found_several;
    found.error_code = "several_effects";
    return found;
  };
  world.pass(20);
  worker->reconcile();
  EXPECT_EQ(worker->status(), S::review);
  EXPECT_EQ(world.journal.events(world.operation().operation_key).value().back().detail,
            "several_effects");
}

// Only the caller could send again, and it does not come back.
TEST(ReconcilerTest, WhatADeadWorkerLeftReachesReviewWithinUnknownAfter) {
  World world(keyed_guarantees());
  world.provider.at = [](std::string_view point) {
    if (point == "committed") throw std::runtime_error("crash");
  };
  EXPECT_THROW(world.start("w1")->submit(), std::runtime_error);
  world.provider.at = nullptr;
  const auto worker = world.start("w2");
  world.pass(601);
  for (int i = 0; i < 30; ++i) {
    worker->reconcile();
    world.pass(100);
  }
  EXPECT_EQ(worker->status(), S::review);
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

TEST(ReconcilerTest, AStopEndsTheBatch) {
  World world(searchable_guarantees());
  world.provider.replies = {Reply::lost_after_commit, Reply::lost_after_commit};
  const auto worker = world.start("w1");
  worker->submit(payment_intent("one"));
  worker->submit(payment_intent("two"));
  world.pass(20);
  std::stop_source source;
  world.provider.at = [&](std::string_view) { source.request_stop(); };
  EXPECT_EQ(worker->reconciler.run_once(10, source.get_token()).value().checked, 1U);
}

}  // namespace
}  // namespace onceproof
