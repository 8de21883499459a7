// Two workers at each other's seams, and a journal that fails: what is written late, bounces, or is
// lost.
#include <gtest/gtest.h>

#include <stdexcept>

#include "reference/executor_world.h"

namespace onceproof {
namespace {

using Reply = LedgerProvider::Reply;
using When = SeamJournal::When;
using S = AnswerStatus;

Error unavailable() {
  return {ErrorCode::journal_unavailable, "disk full"};
}

CallOutcome outcome(OutcomeKind kind, std::string code) {
  CallOutcome made;
  made.kind = kind;
  made.error_code = std::move(code);
  return made;
}

TEST(ExecutorWorkersTest, WhileAnotherWorkerCallsTheAnswerIsInProgress) {
  World world(keyed_searchable_guarantees());
  const auto first = world.start("w1");
  const auto second = world.start("w2");
  world.provider.at = [&](std::string_view point) {
    if (point == "find") ADD_FAILURE() << "a lookup while the lease is alive";
    if (point != "call" && point != "committed") return;
    EXPECT_EQ(second->submit().status, S::in_progress);
    EXPECT_EQ(second->status(), S::in_progress);
    EXPECT_EQ(second->reconcile().checked, 0U);
  };
  EXPECT_EQ(first->submit().status, S::succeeded);
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

TEST(ExecutorWorkersTest, OfTwoThatBothFoundNoRecordOneCalls) {
  World world(blind_guarantees());
  const auto first = world.start("w1");
  const auto second = world.start("w2");
  first->journal.at = [&](std::string_view call, When when) -> std::optional<Error> {
    if (call == "register_and_claim" && when == When::before) {
      EXPECT_EQ(second->submit().status, S::succeeded);
    }
    return {};
  };
  const Answer answer = first->submit();
  EXPECT_EQ(answer.status, S::succeeded);
  EXPECT_EQ(answer.external_id, "pay_1");
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

TEST(ExecutorWorkersTest, OfTwoThatBothProvedAbsenceOneCalls) {
  World world(searchable_guarantees());
  world.provider.replies = {Reply::lost_before_commit};
  const auto first = world.start("w1");
  const auto second = world.start("w2");
  first->submit();
  world.pass(600);
  bool nested = false;
  for (const char* seam : {"release_for_retry", "claim"}) {
    first->journal.at = [&, seam](std::string_view call, When when) -> std::optional<Error> {
      if (call != seam || when != When::before || nested) return {};
      nested = true;
      EXPECT_EQ(second->submit().status, S::succeeded) << seam;
      return {};
    };
    EXPECT_EQ(first->submit().status, S::succeeded) << seam;
  }
  EXPECT_TRUE(nested);
  EXPECT_EQ(world.provider.calls.size(), 2U);
  EXPECT_EQ(world.provider.effects.size(), 1U);
}

TEST(ExecutorWorkersTest, WhoeverLosesTheClaimAnswersWhatTheWinnerIsDoing) {
  World world(keyed_guarantees());
  world.provider.on_call = [](const CallRequest&) {
    return outcome(OutcomeKind::not_started, "not_sent");
  };
  const auto first = world.start("w1");
  const auto second = world.start("w2");
  first->submit();
  world.provider.on_call = nullptr;
  world.pass(100);
  first->journal.at = [&](std::string_view call, When when) -> std::optional<Error> {
    if (call != "claim" || when != When::before) return {};
    first->journal.at = nullptr;
    // The winner has claimed and goes no further.
    const Operation operation = world.operation();
    EXPECT_TRUE(
        world.journal.claim({operation.operation_key, operation.attempt_count, "w3",
                             world.clock.civil(), world.clock.civil() + Milliseconds{600}}));
    return {};
  };
  EXPECT_EQ(first->submit().status, S::in_progress);
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

TEST(ExecutorWorkersTest, ADeadLeaseIsVerifiedNotTakenOver) {
  World world(searchable_guarantees());
  const auto first = world.start("w1");
  world.provider.at = [](std::string_view point) {
    if (point == "committed") throw std::runtime_error("crash");
  };
  EXPECT_THROW(first->submit(), std::runtime_error);
  world.provider.at = nullptr;
  const auto second = world.start("w2");
  world.pass(600);
  EXPECT_EQ(second->submit().status, S::in_progress);
  world.pass(1);
  EXPECT_EQ(second->submit().status, S::succeeded);
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

TEST(ExecutorWorkersTest, AClaimThatTookTooLongIsReleasedAsNeverStarted) {
  World world(blind_guarantees());
  const auto worker = world.start("w1");
  worker->journal.at = [&](std::string_view call, When when) -> std::optional<Error> {
    if (call == "register_and_claim" && when == When::after) world.pass(350);  // 350 + 250 == 600
    return {};
  };
  EXPECT_EQ(worker->submit().status, S::pending);
  EXPECT_TRUE(world.provider.calls.empty());
  EXPECT_EQ(world.operation().status, Status::pending);
  worker->journal.at = nullptr;
  world.pass(100);
  EXPECT_EQ(worker->submit().status, S::succeeded);
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

TEST(ExecutorWorkersTest, AClaimThatJustFitsIsSent) {
  World world(blind_guarantees());
  const auto worker = world.start("w1");
  worker->journal.at = [&](std::string_view call, When when) -> std::optional<Error> {
    if (call == "register_and_claim" && when == When::after) world.pass(349);
    return {};
  };
  EXPECT_EQ(worker->submit().status, S::succeeded);
}

TEST(ExecutorWorkersTest, AKeyThatIsForgottenDuringTheClaimIsNotSent) {
  World world(keyed_guarantees());
  world.policy.tools["create_payment"].unknown_after = Milliseconds{60'000};
  world.provider.replies = {Reply::lost_after_commit};
  const auto worker = world.start("w1");
  worker->submit();
  world.pass(4'300);
  worker->journal.at = [&](std::string_view call, When when) -> std::optional<Error> {
    if (call == "claim" && when == When::after) world.pass(150);
    return {};
  };
  EXPECT_EQ(worker->submit().status, S::verification_required);
  EXPECT_EQ(world.operation().status, Status::unknown);
  EXPECT_EQ(world.operation().attempt_count, 2);
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

// The first worker's lease ends while its call is under way; the second one has verified meanwhile
// and could not tell.
TEST(ExecutorWorkersTest, AStaleWorkersConfirmedSuccessIsRecorded) {
  World world(incomplete_guarantees());
  const auto first = world.start("w1");
  const auto second = world.start("w2");
  world.provider.at = [&](std::string_view point) {
    if (point != "call") return;
    world.provider.at = nullptr;
    world.pass(601);
    EXPECT_EQ(second->submit().status, S::verification_required);
    EXPECT_EQ(world.operation().status, Status::unknown);
  };
  EXPECT_EQ(first->submit().status, S::succeeded);
  EXPECT_EQ(second->submit().status, S::succeeded);
  EXPECT_EQ(world.provider.effects.size(), 1U);
}

TEST(ExecutorWorkersTest, AStaleWorkersSuccessIsRecordedAlsoAfterALaterClaim) {
  World world(keyed_guarantees());
  const auto first = world.start("w1");
  const auto second = world.start("w2");
  world.provider.at = [&](std::string_view point) {
    if (point != "committed") return;
    world.provider.at = [&](std::string_view inner) {
      if (inner != "call") return;
      world.provider.at =
          nullptr;  // the second attempt is under way when the first one's answer comes
      world.provider.replies = {Reply::lost_before_commit};
    };
    world.pass(601);
    EXPECT_EQ(second->submit().status, S::verification_required);
  };
  const Answer answer = first->submit();
  EXPECT_EQ(answer.status, S::succeeded);
  EXPECT_EQ(answer.external_id, "pay_1");
  EXPECT_EQ(world.operation().attempt_count, 2);
  EXPECT_EQ(world.provider.effects.size(), 1U);
}

TEST(ExecutorWorkersTest, AStaleWorkersOtherWritesBounceAndItAnswersWhatTheJournalSays) {
  struct Late {
    OutcomeKind kind;
    const char* code;
  };
  for (const auto& late :
       {Late{OutcomeKind::ambiguous, "timeout"}, Late{OutcomeKind::rejected, "card_declined"},
        Late{OutcomeKind::not_started, "not_sent"}}) {
    World world(keyed_guarantees());
    const auto first = world.start("w1");
    const auto second = world.start("w2");
    world.provider.on_call = [&](const CallRequest&) {
      world.provider.on_call = nullptr;
      world.pass(601);
      EXPECT_EQ(second->submit().status, S::succeeded);
      return outcome(late.kind, late.code);
    };
    const Answer answer = first->submit();
    EXPECT_EQ(answer.status, S::succeeded) << late.code;
    EXPECT_EQ(answer.external_id, "pay_1") << late.code;
    EXPECT_EQ(world.operation().status, Status::succeeded);
    EXPECT_EQ(world.operation().attempt_count, 2);
  }
}

// The honest limit (DESIGN 4.3): no key dedup, and a pause without bound between the last check of
// the lease and the send. The second worker proves absence, rightly, and calls; then the first
// one's request goes out. Nothing on this side can stop it.
TEST(ExecutorWorkersTest, HonestLimitAPauseBeforeTheSendDoublesTheEffectWithoutKeyDedup) {
  World world(searchable_guarantees());
  const auto first = world.start("w1");
  const auto second = world.start("w2");
  world.provider.at = [&](std::string_view point) {
    if (point != "call") return;
    world.provider.at = nullptr;
    world.pass(751);
    EXPECT_EQ(second->submit().external_id, "pay_1");
  };
  const Answer answer = first->submit();
  EXPECT_EQ(world.provider.effects.size(), 2U);  // what cannot be prevented
  EXPECT_EQ(answer.status, S::succeeded);        // is at least not hidden
  EXPECT_EQ(answer.external_id, "pay_1");
  EXPECT_EQ(answer.error_code, "duplicate_effect");
  EXPECT_EQ(world.count_events("duplicate_effect"), 1U);
  EXPECT_EQ(world.operation().external_id, "pay_1");
}

TEST(ExecutorWorkersTest, TheSamePauseIsHarmlessWithKeyDedup) {
  World world(keyed_searchable_guarantees());
  const auto first = world.start("w1");
  const auto second = world.start("w2");
  world.provider.at = [&](std::string_view point) {
    if (point != "call") return;
    world.provider.at = nullptr;
    world.pass(751);
    EXPECT_EQ(second->submit().external_id, "pay_1");
  };
  const Answer answer = first->submit();
  EXPECT_EQ(world.provider.effects.size(), 1U);
  EXPECT_EQ(answer.status, S::succeeded);
  EXPECT_EQ(answer.error_code, "");
}

TEST(ExecutorWorkersTest, AnEffectThatComesToLightAfterFailedFinalIsNotAnsweredAsAFailure) {
  World world(searchable_guarantees());
  const auto first = world.start("w1");
  const auto second = world.start("w2");
  world.provider.on_call = [&](const CallRequest& request) {
    world.provider.on_call = [](const CallRequest&) {
      return outcome(OutcomeKind::rejected, "card_declined");
    };
    world.pass(751);
    EXPECT_EQ(second->submit().status, S::failed_final);
    world.provider.effects.push_back(
        {"pay_9", request.operation_key, request.params, world.clock.civil()});
    CallOutcome late = outcome(OutcomeKind::confirmed, "");
    late.external_id = "pay_9";
    return late;
  };
  const Answer answer = first->submit();
  EXPECT_EQ(answer.status, S::verification_required);
  EXPECT_EQ(answer.error_code, "duplicate_effect");
}

TEST(ExecutorWorkersTest, NothingIsCalledIfTheJournalCannotBeReadOrWritten) {
  for (const char* seam : {"find", "register_and_claim"}) {
    for (const When when : {When::before, When::after}) {
      World world(searchable_guarantees());
      const auto worker = world.start("w1");
      worker->journal.at = [&](std::string_view call, When now) -> std::optional<Error> {
        if (call == seam && now == when) return unavailable();
        return {};
      };
      const auto answer = worker->executor.submit(payment_intent());
      ASSERT_FALSE(answer) << seam;
      EXPECT_EQ(answer.error().code, ErrorCode::journal_unavailable);
      EXPECT_TRUE(world.provider.calls.empty()) << seam;
      // It heals. Whether the claim had been written or not: one effect in the end.
      worker->journal.at = nullptr;
      world.pass(751);
      EXPECT_EQ(worker->submit().status, S::succeeded) << seam;
      EXPECT_EQ(world.provider.effects.size(), 1U) << seam;
    }
  }
}

TEST(ExecutorWorkersTest, NothingIsCalledIfALaterClaimCannotBeWritten) {
  for (const When when : {When::before, When::after}) {
    World world(keyed_guarantees());
    world.provider.replies = {Reply::lost_before_commit};
    const auto worker = world.start("w1");
    worker->submit();
    world.pass(20);
    worker->journal.at = [&](std::string_view call, When now) -> std::optional<Error> {
      if (call == "claim" && now == when) return unavailable();
      return {};
    };
    EXPECT_FALSE(worker->executor.submit(payment_intent()));
    EXPECT_EQ(world.provider.calls.size(), 1U);
    worker->journal.at = nullptr;
    world.pass(700);
    EXPECT_EQ(worker->submit().status, S::succeeded);
    EXPECT_EQ(world.provider.effects.size(), 1U);
  }
}

TEST(ExecutorWorkersTest, AfterACallTheRecordIsTriedAgain) {
  for (const When when : {When::before, When::after}) {
    World world(blind_guarantees());
    const auto worker = world.start("w1");
    int failures = 3;
    worker->journal.at = [&](std::string_view call, When now) -> std::optional<Error> {
      if (call != "mark_succeeded" || now != when || failures == 0) return {};
      --failures;
      return unavailable();
    };
    const Answer answer = worker->submit();
    EXPECT_EQ(answer.status, S::succeeded);
    EXPECT_EQ(answer.external_id, "pay_1");
    EXPECT_EQ(answer.error_code, "") << "its own write that had landed is no duplicate";
    EXPECT_EQ(world.count_events("duplicate_effect"), 0U);
  }
}

TEST(ExecutorWorkersTest, AFinalFailureWhoseReplyWasLostIsAnsweredAsTheJournalHasIt) {
  World world(blind_guarantees());
  world.provider.on_call = [](const CallRequest&) {
    return outcome(OutcomeKind::rejected, "card_declined");
  };
  const auto worker = world.start("w1");
  int failures = 1;
  worker->journal.at = [&](std::string_view call, When now) -> std::optional<Error> {
    if (call == "mark_failed_final" && now == When::after && failures-- > 0) return unavailable();
    return {};
  };
  EXPECT_EQ(worker->submit().status, S::failed_final);
}

TEST(ExecutorWorkersTest, AnOutcomeThatCannotBeRecordedIsNotTold) {
  World world(searchable_guarantees());
  const auto worker = world.start("w1");
  int tries = 0;
  worker->journal.at = [&](std::string_view call, When now) -> std::optional<Error> {
    if (call != "mark_succeeded" || now != When::before) return {};
    ++tries;
    return unavailable();
  };
  const Answer answer = worker->submit();
  EXPECT_EQ(answer.status, S::verification_required);
  EXPECT_EQ(answer.external_id, "");
  EXPECT_EQ(answer.error_code, "journal_unavailable");
  EXPECT_GT(tries, 1);
  EXPECT_LT(tries, 10);
  worker->journal.at = nullptr;
  world.pass(601);
  EXPECT_EQ(worker->submit().status, S::succeeded);  // by verifying
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

TEST(ExecutorWorkersTest, AReleaseThatCannotBeRecordedLeadsToNoCall) {
  World world(searchable_guarantees());
  world.provider.replies = {Reply::lost_before_commit};
  const auto worker = world.start("w1");
  worker->submit();
  world.pass(600);
  worker->journal.at = [&](std::string_view call, When now) -> std::optional<Error> {
    if (call == "release_for_retry" && now == When::before) return unavailable();
    return {};
  };
  EXPECT_EQ(worker->submit().status, S::verification_required);
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

}  // namespace
}  // namespace onceproof
