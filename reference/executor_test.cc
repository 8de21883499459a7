// Every branch of a submit, with the ledger as the judge: what counts is how many effects there
// are.
#include "reference/executor.h"

#include <gtest/gtest.h>

#include "reference/executor_world.h"

namespace onceproof {
namespace {

using Reply = LedgerProvider::Reply;
using When = SeamJournal::When;
using S = AnswerStatus;

TEST(ExecutorTest, AFreshIntentIsCalledOnceAndItsResultIsKept) {
  World world(keyed_guarantees());
  const auto worker = world.start("w1");
  const Answer answer = worker->submit();
  EXPECT_EQ(answer.status, S::succeeded);
  EXPECT_EQ(answer.external_id, "pay_1");
  EXPECT_EQ(answer.result, (Json{{"status", "succeeded"}}));
  EXPECT_EQ(answer.error_code, "");
  ASSERT_EQ(world.provider.calls.size(), 1U);
  EXPECT_EQ(world.provider.calls[0].operation_key, answer.operation_key);
  EXPECT_EQ(world.provider.calls[0].timeout, Milliseconds{250});
  EXPECT_TRUE(answer.operation_key.starts_with("op_")) << answer.operation_key;
  EXPECT_EQ(world.operation().status, Status::succeeded);
}

TEST(ExecutorTest, TheIntentIsInTheJournalAndClaimedBeforeTheCall) {
  World world(keyed_guarantees());
  const auto worker = world.start("w1");
  world.provider.at = [&](std::string_view point) {
    if (point != "call") return;
    const Operation operation = world.operation();
    EXPECT_EQ(operation.status, Status::in_progress);
    EXPECT_EQ(operation.attempt_count, 1);
    EXPECT_EQ(operation.lease_owner, "w1");
    EXPECT_EQ(operation.lease_until, world.clock.civil() + Milliseconds{600});
  };
  worker->submit();
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

TEST(ExecutorTest, ANewIntentCostsTwoJournalWrites) {
  World world(keyed_guarantees());
  const auto worker = world.start("w1");
  std::string calls;
  worker->journal.at = [&](std::string_view call, When when) -> std::optional<Error> {
    if (when == When::before) calls += std::string(call) + " ";
    return {};
  };
  worker->submit();
  EXPECT_EQ(calls, "find register_and_claim mark_succeeded ");
}

TEST(ExecutorTest, ARepeatAfterSuccessReturnsTheSameAndCallsNothing) {
  World world(keyed_searchable_guarantees());
  const Answer first = world.start("w1")->submit();
  world.pass(1'000'000);
  const Answer second = world.start("w2")->submit();
  EXPECT_EQ(second.status, S::succeeded);
  EXPECT_EQ(second.external_id, first.external_id);
  EXPECT_EQ(second.result, first.result);
  EXPECT_EQ(second.operation_key, first.operation_key);
  EXPECT_EQ(world.provider.calls.size(), 1U);
  EXPECT_EQ(world.provider.finds, 0);
}

TEST(ExecutorTest, WhatThePolicyDoesNotNameNeverEntersTheJournal) {
  World world(keyed_guarantees());
  world.start("w1")->submit();
  EXPECT_EQ(world.operation().result,
            (Json{{"status", "succeeded"}}));  // the provider told a card number, too
  world.policy.tools["create_payment"].result_fields = {};
  const Answer answer = world.start("w1")->submit(payment_intent("other"));
  EXPECT_TRUE(answer.result.is_null());
}

TEST(ExecutorTest, OtherParametersAreAConflictWhateverTheStatusAndNothingIsCalled) {
  Intent changed = payment_intent();
  changed.params["amount_minor"] = 490001;
  const auto expect_conflict = [&](World& world) {
    const auto calls = world.provider.calls.size();
    const int finds = world.provider.finds;
    const Status before = world.operation().status;
    const Answer answer = world.start("w9")->submit(changed);
    EXPECT_EQ(answer.status, S::conflict) << to_text(before);
    EXPECT_EQ(answer.differing_fields, std::vector<std::string>{"amount_minor"});
    EXPECT_EQ(answer.external_id, "");
    EXPECT_TRUE(answer.result.is_null());
    EXPECT_EQ(world.provider.calls.size(), calls);
    EXPECT_EQ(world.provider.finds, finds);
    EXPECT_EQ(world.operation().status, before);
  };
  World done(keyed_guarantees());
  done.start("w1")->submit();
  expect_conflict(done);

  World doubtful(searchable_guarantees());
  doubtful.provider.replies = {Reply::lost_after_commit};
  doubtful.start("w1")->submit();
  doubtful.pass(1'000);
  expect_conflict(doubtful);  // unknown, and due
  doubtful.pass(5'000);
  doubtful.provider.on_find = [] { return LookupResult{}; };
  doubtful.start("w1")->reconcile();
  doubtful.pass(5'000);
  doubtful.start("w1")->reconcile();
  ASSERT_TRUE(doubtful.operation().review_since.has_value());
  expect_conflict(doubtful);  // in review

  World busy(keyed_guarantees());
  busy.provider.at = [&](std::string_view point) {
    if (point == "call") expect_conflict(busy);  // in progress
  };
  busy.start("w1")->submit();

  World refused(keyed_guarantees());
  refused.provider.on_call = [](const CallRequest&) {
    CallOutcome rejected;
    rejected.kind = OutcomeKind::rejected;
    return rejected;
  };
  refused.start("w1")->submit();
  expect_conflict(refused);  // failed_final
}

TEST(ExecutorTest, TheSameMeaningInOtherWordsIsNoConflict) {
  World world(keyed_guarantees());
  world.start("w1")->submit();
  Intent same = payment_intent();
  same.params["currency"] = "rub";
  same.params["trace_id"] = "another";
  same.params["note"] = nullptr;
  EXPECT_EQ(world.start("w1")->submit(same).status, S::succeeded);
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

TEST(ExecutorTest, WhatIsSentIsWhatWasHashedAndWhatDoesNotCountAsItWasGiven) {
  World world(keyed_guarantees());
  Intent intent = payment_intent();
  intent.params["currency"] = "rub";
  intent.params["trace_id"] = "abc";
  intent.params["note"] = nullptr;
  world.start("w1")->submit(intent);
  EXPECT_EQ(world.provider.calls.at(0).params, (Json{{"order_id", "817"},
                                                     {"amount_minor", 490000},
                                                     {"currency", "RUB"},
                                                     {"trace_id", "abc"}}));
}

TEST(ExecutorTest, TimeoutAfterCommitLeavesUnknownAndIsVerifiedNotRepeated) {
  World world(searchable_guarantees());
  world.provider.replies = {Reply::lost_after_commit};
  const auto worker = world.start("w1");
  const Answer first = worker->submit();
  EXPECT_EQ(first.status, S::verification_required);
  EXPECT_EQ(first.error_code, "timeout");
  EXPECT_EQ(first.external_id, "");
  EXPECT_EQ(world.operation().status, Status::unknown);
  EXPECT_EQ(worker->status(), S::unknown);
  world.pass(20);  // the check is due
  const Answer second = worker->submit();
  EXPECT_EQ(second.status, S::succeeded);
  EXPECT_EQ(second.external_id, "pay_1");
  EXPECT_EQ(world.provider.calls.size(), 1U);
  EXPECT_EQ(world.provider.effects.size(), 1U);
}

TEST(ExecutorTest, ACallerThatHammersCausesNoLookups) {
  World world(searchable_guarantees());
  world.provider.replies = {Reply::lost_before_commit};
  const auto worker = world.start("w1");
  worker->submit();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(worker->submit().status, S::verification_required);
  EXPECT_EQ(world.provider.finds, 0);
  world.pass(20);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(worker->submit().status, S::verification_required);
  EXPECT_EQ(world.provider.finds, 1);
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

TEST(ExecutorTest, AfterAbsenceIsProvedTheSameSubmitCallsAgainWithTheSameKey) {
  World world(searchable_guarantees());
  world.provider.replies = {Reply::lost_before_commit};
  const auto worker = world.start("w1");
  worker->submit();
  world.pass(500);  // 750 ms after the claim: exactly at the limit, nothing is proved
  EXPECT_EQ(worker->submit().status, S::verification_required);
  EXPECT_EQ(world.provider.calls.size(), 1U);
  world.pass(1);
  const Answer answer = worker->submit();
  EXPECT_EQ(answer.status, S::succeeded);
  ASSERT_EQ(world.provider.calls.size(), 2U);
  EXPECT_EQ(world.provider.calls[0].operation_key, world.provider.calls[1].operation_key);
  EXPECT_EQ(world.provider.calls[0].params, world.provider.calls[1].params);
  EXPECT_EQ(world.provider.calls[1].attempt, 2);
  EXPECT_EQ(world.provider.effects.size(), 1U);
  EXPECT_EQ(world.count_events("absent"), 1U);
}

TEST(ExecutorTest, NotYetFoundIsNotAbsent) {
  World world(incomplete_guarantees());
  world.provider.replies = {Reply::lost_before_commit};
  const auto worker = world.start("w1");
  worker->submit();
  for (int i = 0; i < 20; ++i) {
    world.pass(150);
    worker->submit();
  }
  EXPECT_EQ(worker->submit().status, S::review);
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

TEST(ExecutorTest, AtABlindProviderDoubtEndsWithAPersonNotWithACall) {
  World world(blind_guarantees());
  world.provider.replies = {Reply::lost_after_commit};
  const auto worker = world.start("w1");
  worker->submit();
  S last = S::verification_required;
  for (int i = 0; i < 40 && last == S::verification_required; ++i) {
    world.pass(100);
    last = worker->submit().status;
  }
  EXPECT_EQ(last, S::review);
  EXPECT_EQ(worker->status(), S::review);
  world.pass(1'000'000);
  EXPECT_EQ(worker->submit().status, S::review);
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

TEST(ExecutorTest, AKeyThatIsLiveAllowsAResendBeforeAnythingIsProved) {
  for (const Reply reply : {Reply::lost_after_commit, Reply::lost_before_commit}) {
    World world(keyed_guarantees());
    world.provider.replies = {reply};
    const auto worker = world.start("w1");
    EXPECT_EQ(worker->submit().status, S::verification_required);
    world.pass(20);
    const Answer answer = worker->submit();
    EXPECT_EQ(answer.status, S::succeeded);
    EXPECT_EQ(answer.external_id, "pay_1");
    ASSERT_EQ(world.provider.calls.size(), 2U);
    EXPECT_EQ(world.provider.calls[0].operation_key, world.provider.calls[1].operation_key);
    EXPECT_EQ(world.provider.effects.size(), 1U);
  }
}

TEST(ExecutorTest, AKeyThatMayBeForgottenAllowsNoResend) {
  World world(keyed_guarantees());
  world.policy.tools["create_payment"].unknown_after = Milliseconds{60'000};
  world.provider.replies = {Reply::lost_after_commit};
  const auto worker = world.start("w1");
  worker->submit();
  world.pass(4'500);  // now + 250 == first attempt + 5000
  EXPECT_EQ(worker->submit().status, S::verification_required);
  world.pass(10'000);
  EXPECT_EQ(worker->submit().status, S::verification_required);
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

TEST(ExecutorTest, ResendsEndAtMaxAttempts) {
  World world(keyed_guarantees());
  world.provider.replies = {10, Reply::lost_after_commit};
  const auto worker = world.start("w1");
  for (int i = 0; i < 40; ++i) {
    worker->submit();
    world.pass(200);
  }
  EXPECT_EQ(worker->submit().status, S::review);
  EXPECT_EQ(world.provider.calls.size(), 3U);
  EXPECT_EQ(world.provider.effects.size(), 1U);
}

CallOutcome outcome(OutcomeKind kind, std::string code) {
  CallOutcome made;
  made.kind = kind;
  made.error_code = std::move(code);
  return made;
}

TEST(ExecutorTest, ARejectionIsFinal) {
  World world(keyed_searchable_guarantees());
  world.provider.on_call = [](const CallRequest&) {
    return outcome(OutcomeKind::rejected, "card_declined");
  };
  const auto worker = world.start("w1");
  const Answer first = worker->submit();
  EXPECT_EQ(first.status, S::failed_final);
  EXPECT_EQ(first.error_code, "card_declined");
  world.pass(100'000);
  const Answer second = worker->submit();
  EXPECT_EQ(second.status, S::failed_final);
  EXPECT_EQ(second.error_code, "card_declined");
  EXPECT_EQ(world.provider.calls.size(), 1U);
  EXPECT_EQ(worker->status(), S::failed_final);
}

TEST(ExecutorTest, ARejectionOfAResendIsNotFinalWhileAnEarlierAttemptIsUnresolved) {
  World world(keyed_searchable_guarantees());
  world.provider.replies = {Reply::lost_after_commit};
  const auto worker = world.start("w1");
  worker->submit();
  world.provider.on_call = [](const CallRequest&) {
    return outcome(OutcomeKind::rejected, "validation_failed");
  };
  world.provider.on_find = [] { return LookupResult{}; };  // cannot tell; the key is live
  world.pass(20);
  const Answer answer = worker->submit();
  world.provider.on_find = nullptr;
  EXPECT_EQ(world.provider.calls.size(), 2U);
  EXPECT_EQ(answer.status, S::verification_required);
  EXPECT_EQ(answer.error_code, "validation_failed");
  world.pass(200);
  EXPECT_EQ(worker->submit().status, S::succeeded);  // the first attempt's effect
  EXPECT_EQ(world.provider.effects.size(), 1U);
}

TEST(ExecutorTest, WhatWasNotStartedIsTriedAgainAfterItsBackoff) {
  World world(blind_guarantees());
  auto busy = outcome(OutcomeKind::not_started, "http_429");
  busy.retry_after = Milliseconds{300};
  world.provider.on_call = [&](const CallRequest&) { return busy; };
  const auto worker = world.start("w1");
  const Answer first = worker->submit();
  EXPECT_EQ(first.status, S::pending);
  EXPECT_EQ(first.error_code, "http_429");
  EXPECT_EQ(worker->status(), S::pending);
  world.pass(299);
  EXPECT_EQ(worker->submit().status, S::pending);
  EXPECT_EQ(world.provider.calls.size(), 1U);
  world.provider.on_call = nullptr;
  world.pass(1);
  EXPECT_EQ(worker->submit().status, S::succeeded);
  EXPECT_EQ(world.provider.calls.size(), 2U);
}

TEST(ExecutorTest, WhatIsNeverStartedEndsWithAPerson) {
  World world(blind_guarantees());
  world.provider.on_call = [](const CallRequest&) {
    return outcome(OutcomeKind::not_started, "not_sent");
  };
  const auto worker = world.start("w1");
  for (int i = 0; i < 10; ++i) {
    worker->submit();
    world.pass(1'000);
  }
  EXPECT_EQ(worker->submit().status, S::review);
  EXPECT_EQ(world.provider.calls.size(), 3U);
}

TEST(ExecutorTest, TheCallersOwnKeyIsUsed) {
  World world(keyed_guarantees());
  Intent intent = payment_intent();
  intent.operation_key = "payment:order-817:intent-01";
  EXPECT_EQ(world.start("w1")->submit(intent).operation_key, "payment:order-817:intent-01");
  EXPECT_EQ(world.provider.calls.at(0).operation_key, "payment:order-817:intent-01");
}

TEST(ExecutorTest, AKeyOfAnotherIntentIsAConflictThatShowsNothing) {
  World world(keyed_guarantees());
  const auto worker = world.start("w1");
  Intent intent = payment_intent();
  intent.operation_key = "k1";
  worker->submit(intent);
  Intent other = payment_intent("other");
  other.operation_key = "k1";
  const Answer answer = worker->submit(other);
  EXPECT_EQ(answer.status, S::conflict);
  EXPECT_EQ(answer.error_code, "operation_key_in_use");
  EXPECT_EQ(answer.external_id, "");
  EXPECT_TRUE(answer.differing_fields.empty());
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

TEST(ExecutorTest, ARetryWithoutTheCallersKeyFindsIt) {
  World world(keyed_guarantees());
  Intent intent = payment_intent();
  intent.operation_key = "k1";
  world.start("w1")->submit(intent);
  EXPECT_EQ(world.start("w2")->submit(payment_intent()).operation_key, "k1");
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

TEST(ExecutorTest, WhatBreaksThePolicyIsRefusedBeforeAnythingIsWritten) {
  World world(keyed_guarantees());
  const auto worker = world.start("w1");
  const auto refused = [&](const Intent& intent) {
    const auto answer = worker->executor.submit(intent);
    EXPECT_FALSE(answer);
    return answer ? Error{ErrorCode::interrupted, ""} : answer.error();
  };
  Intent intent = payment_intent();
  intent.params["amount_minor"] = 4900.5;
  EXPECT_EQ(refused(intent).code, ErrorCode::invalid_argument);
  EXPECT_NE(refused(intent).message.find("amount_minor"), std::string::npos);
  intent = payment_intent();
  intent.params["reference"] = "mine";
  EXPECT_NE(refused(intent).message.find("params.reference"), std::string::npos);
  intent = payment_intent();
  intent.params = Json::array();
  EXPECT_EQ(refused(intent).code, ErrorCode::invalid_argument);
  intent = payment_intent();
  intent.operation_key = "two words";
  EXPECT_EQ(refused(intent).code, ErrorCode::invalid_argument);
  EXPECT_EQ(refused(payment_intent("")).code, ErrorCode::invalid_argument);
  EXPECT_EQ(refused(payment_intent(std::string(201, 'x'))).code, ErrorCode::invalid_argument);
  intent = payment_intent();
  intent.action = "submit_application";
  EXPECT_EQ(refused(intent).code, ErrorCode::not_found);
  world.policy.tools["submit_application"] = world.policy.tools["create_payment"];
  EXPECT_EQ(refused(intent).code, ErrorCode::not_found);  // a policy, but no provider
  EXPECT_TRUE(world.journal.list({.limit = 10}).value().empty());
  EXPECT_TRUE(world.provider.calls.empty());
}

TEST(ExecutorTest, IntentsThatLookAlikeBothGetTheirEffect) {
  World world(keyed_searchable_guarantees());
  const auto worker = world.start("w1");
  const Answer a = worker->submit(payment_intent("a"));
  const Answer b = worker->submit(payment_intent("b"));
  EXPECT_NE(a.operation_key, b.operation_key);
  EXPECT_NE(a.external_id, b.external_id);
  EXPECT_EQ(world.provider.effects.size(), 2U);
}

TEST(ExecutorTest, TheSameIntentIdOfAnotherTenantIsAnotherIntent) {
  World world(keyed_guarantees());
  const auto worker = world.start("w1");
  worker->submit();
  Intent other = payment_intent();
  other.tenant = "t2";
  other.params["amount_minor"] = 1;
  EXPECT_EQ(worker->submit(other).status, S::succeeded);
  EXPECT_EQ(world.provider.effects.size(), 2U);
}

TEST(ExecutorTest, StatusOfWhatWasNeverSubmittedIsNotFound) {
  World world(keyed_guarantees());
  const auto status = world.start("w1")->executor.status("t1", "create_payment", "none");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::not_found);
}

TEST(ExecutorTest, EveryAnswerStatusHasItsName) {
  EXPECT_EQ(to_text(S::pending), "pending");
  EXPECT_EQ(to_text(S::in_progress), "in_progress");
  EXPECT_EQ(to_text(S::unknown), "unknown");
  EXPECT_EQ(to_text(S::succeeded), "succeeded");
  EXPECT_EQ(to_text(S::failed_final), "failed_final");
  EXPECT_EQ(to_text(S::conflict), "conflict");
  EXPECT_EQ(to_text(S::verification_required), "verification_required");
  EXPECT_EQ(to_text(S::review), "review");
}

}  // namespace
}  // namespace onceproof
