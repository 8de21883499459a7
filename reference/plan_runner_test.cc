// Several effects of one decision: each once, a partial failure visible, nothing undone in doubt.
#include "reference/plan_runner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "reference/executor_world.h"

namespace onceproof {
namespace {

using Reply = LedgerProvider::Reply;
using S = AnswerStatus;

CallOutcome reject(std::string code) {
  return {OutcomeKind::rejected, {}, nullptr, std::move(code), {}};
}

// Payments, refunds and e-mails; a plan that charges twice and writes an e-mail.
class PlanRunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ToolPolicy mails = world_policy().tools["create_payment"];
    mails.fields.clear();
    world_.policy.tools["send_email"] = mails;
    world_.policy.tools["refund_payment"] = mails;
  }
  ExecutorParts parts() {
    auto parts = world_.parts(world_.journal, "w1");
    parts.providers["refund_payment"] = &refunds_;
    return parts;
  }
  static PlanStep charge(std::string name, int amount) {
    return {std::move(name),
            "create_payment",
            {{"amount_minor", amount}, {"currency", "RUB"}},
            PlanUndo{"refund_payment",
                     {{"payment", "${external_id}"}, {"amount", "${params.amount_minor}"}}}};
  }
  static Plan trip() {
    return {"t1",
            "trip-1",
            "book_trip",
            PlanOrder::one_by_one,
            {charge("flight", 100),
             charge("hotel", 200),
             {"mail", "send_email", {{"to", "a@example.com"}}, std::nullopt}}};
  }
  PlanAnswer submit(const Plan& plan = trip()) { return PlanRunner(parts()).submit(plan).value(); }
  Error refused(const Plan& plan) {
    auto answer = PlanRunner(parts()).submit(plan);
    EXPECT_FALSE(answer);
    return answer ? Error{ErrorCode::interrupted, ""} : answer.error();
  }
  Operation parent() { return world_.journal.find("t1", "book_trip", "trip-1").value().value(); }
  void fail_mails() {
    world_.mailer.on_call = [](const CallRequest&) { return reject("bad_address"); };
  }

  World world_{searchable_guarantees()};
  LedgerProvider refunds_{world_.clock, searchable_guarantees()};
};

TEST_F(PlanRunnerTest, EveryStepOnceAndARepeatNoCall) {
  const auto answer = submit();
  EXPECT_EQ(answer.status, S::succeeded);
  EXPECT_EQ(answer.steps.at(1).step->external_id, "pay_2");
  EXPECT_EQ(parent().status, Status::succeeded);
  EXPECT_EQ(parent().result.at("steps").at("hotel"), "succeeded");
  const auto children = world_.journal.children(answer.operation_key).value();
  ASSERT_EQ(children.size(), 3U);
  const auto again = submit();
  EXPECT_EQ(again.status, S::succeeded);
  EXPECT_EQ(again.steps.at(1).step->external_id, "pay_2");
  EXPECT_EQ(world_.provider.calls.size(), 2U);
  EXPECT_EQ(world_.mailer.calls.size(), 1U);
}

TEST_F(PlanRunnerTest, AStepInDoubtHoldsTheNextOneAndIsNotRepeated) {
  world_.provider.replies = {Reply::lost_after_commit};
  auto answer = submit();
  EXPECT_EQ(answer.status, S::verification_required);
  EXPECT_FALSE(answer.steps.at(1).step);  // not begun
  EXPECT_EQ(parent().status, Status::pending);
  world_.pass(100);
  answer = submit();
  EXPECT_EQ(answer.status, S::succeeded);
  EXPECT_EQ(world_.provider.effects.size(), 2U);
}

TEST_F(PlanRunnerTest, AFailureUndoesWhatWasDoneBackwards) {
  fail_mails();
  const auto answer = submit();
  EXPECT_EQ(answer.status, S::failed_final);
  EXPECT_EQ(answer.error_code, "step_failed");
  ASSERT_EQ(refunds_.effects.size(), 2U);
  EXPECT_EQ(refunds_.effects[0].params, (Json{{"payment", "pay_2"}, {"amount", 200}}));
  EXPECT_EQ(refunds_.effects[1].params, (Json{{"payment", "pay_1"}, {"amount", 100}}));
  EXPECT_EQ(parent().status, Status::failed_final);
  EXPECT_EQ(parent().error_code, "step_failed");
  EXPECT_EQ(parent().result.at("steps").at("flight"), "undone");
  const auto again = submit();
  EXPECT_EQ(again.error_code, "step_failed");
  EXPECT_EQ(again.steps.at(0).undo->status, S::succeeded);
  EXPECT_EQ(refunds_.calls.size(), 2U);
}

TEST_F(PlanRunnerTest, AnUndoNamesTheStepThatItUndoes) {
  fail_mails();
  Plan plan = trip();
  plan.steps[0].undo->params = {{"undoes", "${operation_key}"}, {"intent", "${intent}"}};
  const auto answer = submit(plan);
  ASSERT_EQ(refunds_.effects.size(), 2U);
  EXPECT_EQ(refunds_.effects[1].params, (Json{{"undoes", answer.steps.at(0).step->operation_key},
                                              {"intent", "trip-1/flight"}}));
}

TEST_F(PlanRunnerTest, NothingIsUndoneWhileAStepIsInDoubt) {
  Plan plan = trip();
  plan.order = PlanOrder::independent;
  fail_mails();
  world_.provider.replies = {Reply::lost_after_commit};
  auto answer = submit(plan);
  EXPECT_EQ(answer.status, S::verification_required);
  EXPECT_EQ(answer.steps.at(1).step->status, S::succeeded);  // the others were not kept back
  EXPECT_EQ(answer.steps.at(2).step->status, S::failed_final);
  EXPECT_TRUE(refunds_.calls.empty());
  EXPECT_EQ(parent().status, Status::pending);
  world_.pass(100);
  answer = submit(plan);  // the doubt is lifted: it had been charged
  EXPECT_EQ(answer.error_code, "step_failed");
  EXPECT_EQ(refunds_.effects.size(), 2U);
}

TEST_F(PlanRunnerTest, AnUndoInDoubtIsFoundAndNotRepeated) {
  fail_mails();
  refunds_.replies = {Reply::lost_after_commit};
  EXPECT_EQ(submit().status, S::verification_required);
  EXPECT_EQ(refunds_.calls.size(), 1U);  // the next one waits
  world_.pass(100);
  EXPECT_EQ(submit().error_code, "step_failed");
  EXPECT_EQ(refunds_.effects.size(), 2U);
}

TEST_F(PlanRunnerTest, WhatCannotBeUndoneIsAPartialFailure) {
  fail_mails();
  Plan plan = trip();
  plan.steps[0].undo.reset();
  auto answer = submit(plan);
  EXPECT_EQ(answer.status, S::failed_final);
  EXPECT_EQ(answer.error_code, "partial_failure");
  EXPECT_EQ(parent().error_code, "partial_failure");
  EXPECT_EQ(parent().result.at("steps").at("flight"), "succeeded");
  EXPECT_EQ(parent().result.at("steps").at("hotel"), "undone");
  EXPECT_EQ(submit(plan).error_code, "partial_failure");
}

TEST_F(PlanRunnerTest, ARefusedUndoIsAPartialFailure) {
  fail_mails();
  refunds_.on_call = [](const CallRequest&) { return reject("too_late"); };
  EXPECT_EQ(submit().error_code, "partial_failure");
}

TEST_F(PlanRunnerTest, AnotherStepIsAConflictAndTheSameMeaningIsNot) {
  submit();
  Plan same = trip();
  same.steps[0].params["currency"] = "rub";
  EXPECT_EQ(submit(same).status, S::succeeded);
  Plan other = trip();
  other.steps[1].params["amount_minor"] = 201;
  const auto answer = submit(other);
  EXPECT_EQ(answer.status, S::conflict);
  EXPECT_EQ(answer.differing_steps, std::vector<std::string>{"hotel"});
  Plan fewer = trip();
  fewer.steps.pop_back();
  EXPECT_EQ(submit(fewer).status, S::conflict);
  EXPECT_EQ(world_.provider.calls.size(), 2U);
}

TEST_F(PlanRunnerTest, APlanIsComparedByTheRulesThatItWasHashedBy) {
  submit();
  ToolPolicy& tool = world_.policy.tools["create_payment"];
  tool.hash_version = 2;
  tool.earlier_fields[1] = tool.fields;
  tool.fields["currency"] = {FieldRule::ignore};
  EXPECT_EQ(submit().status, S::succeeded);
}

TEST_F(PlanRunnerTest, WhatIsWrongInAnyStepIsRefusedBeforeTheFirstOne) {
  Plan plan = trip();
  plan.steps[1].params["amount_minor"] = 0.5;
  EXPECT_NE(refused(plan).message.find("step 'hotel'"), std::string::npos);
  plan = trip();
  plan.steps[2].action = "send_pigeon";
  EXPECT_NE(refused(plan).message.find("send_pigeon"), std::string::npos);
  plan = trip();
  plan.steps[2].name = "hotel";
  EXPECT_NE(refused(plan).message.find("two steps 'hotel'"), std::string::npos);
  plan = trip();
  plan.steps[0].undo->params["x"] = "${nonsense}";
  EXPECT_NE(refused(plan).message.find("undo of 'flight'"), std::string::npos);
  plan = trip();
  plan.name = "create_payment";
  EXPECT_EQ(refused(plan).code, ErrorCode::invalid_argument);
  plan = trip();
  plan.steps.clear();
  EXPECT_EQ(refused(plan).code, ErrorCode::invalid_argument);
  plan = trip();
  plan.intent_id = std::string(189, 'x');
  EXPECT_EQ(refused(plan).code, ErrorCode::invalid_argument);
  EXPECT_TRUE(world_.journal.list({}).value().empty());
  EXPECT_TRUE(world_.provider.calls.empty());
}

TEST_F(PlanRunnerTest, ACrashAnywhereEndsWithEveryEffectOnce) {
  struct Crash {};
  for (int at = 1; at <= 40; ++at) {
    World world(searchable_guarantees());
    world.policy = world_.policy;
    LedgerProvider refunds(world.clock, searchable_guarantees());
    world.mailer.on_call = [](const CallRequest&) { return reject("bad_address"); };
    SeamJournal seam(world.journal);
    auto with_refunds = world.parts(seam, "w1");
    with_refunds.providers["refund_payment"] = &refunds;
    int seen = 0;
    seam.at = [&](std::string_view, SeamJournal::When) -> std::optional<Error> {
      if (++seen == at) throw Crash{};
      return std::nullopt;
    };
    std::optional<PlanAnswer> answer;
    for (int run = 0; run < 20 && !(answer && answer->status == S::failed_final); ++run) {
      try {
        answer = PlanRunner(with_refunds).submit(trip()).value();
      } catch (const Crash&) {
      }
      world.pass(1'000);
    }
    ASSERT_TRUE(answer) << at;
    EXPECT_EQ(answer->error_code, "step_failed") << at;
    EXPECT_EQ(world.provider.effects.size(), 2U) << at;
    EXPECT_EQ(refunds.effects.size(), 2U) << at;
    seam.at = nullptr;
    PlanRunner(with_refunds).submit(trip()).value();
    EXPECT_EQ(world.journal.find("t1", "book_trip", "trip-1").value()->status, Status::failed_final)
        << at;
  }
}

// --- one e-mail to many

Intent letter(Json to) {
  Intent intent;
  intent.tenant = "t1";
  intent.intent_id = "news-7";
  intent.action = "send_email";
  intent.params = Json{{"to", std::move(to)}, {"text", "hello"}};
  return intent;
}

TEST_F(PlanRunnerTest, ARetryNeverRepeatsTheGoodRecipients) {
  int bad_calls = 0;
  world_.mailer.on_call = [&](const CallRequest& request) -> CallOutcome {
    if (request.params["to"] != Json::array({"bad@example.com"})) {
      return {OutcomeKind::confirmed,
              "mail-" + request.params["to"][0].get<std::string>(),
              nullptr,
              {},
              {}};
    }
    return ++bad_calls == 1 ? CallOutcome{OutcomeKind::not_started, {}, nullptr, "greylisted", {}}
                            : reject("no_such_user");
  };
  const auto plan =
      per_recipient_plan(letter({"a@example.com", "bad@example.com", "c@example.com"})).value();
  auto answer = submit(plan);
  EXPECT_EQ(answer.status, S::pending);
  EXPECT_EQ(world_.mailer.calls.size(), 3U);
  world_.pass(1'000);
  answer = submit(per_recipient_plan(letter({"c@example.com", "bad@example.com", "a@example.com"}))
                      .value());  // the order of recipients means nothing
  EXPECT_EQ(answer.status, S::failed_final);
  EXPECT_EQ(answer.error_code, "partial_failure");
  EXPECT_EQ(world_.mailer.calls.size(), 4U);
  EXPECT_EQ(
      std::ranges::count_if(
          answer.steps, [](const StepAnswer& step) { return step.step->status == S::succeeded; }),
      2);
}

TEST_F(PlanRunnerTest, ARecipientWhoStandsThereTwiceGetsOneEMail) {
  submit(per_recipient_plan(letter({"a@example.com", "a@example.com"})).value());
  EXPECT_EQ(world_.mailer.effects.size(), 1U);
}

TEST_F(PlanRunnerTest, NoAddressStandsInAKey) {
  submit(per_recipient_plan(letter({"a@example.com"})).value());
  const auto operations = world_.journal.list({}).value();
  ASSERT_EQ(operations.size(), 2U);
  for (const auto& operation : operations) {
    EXPECT_EQ(operation.operation_key.find("example"), std::string::npos);
    EXPECT_EQ(operation.intent_id.find("example"), std::string::npos);
  }
}

TEST_F(PlanRunnerTest, WhatIsNoListOfRecipientsIsRefused) {
  for (const Json& to : {Json("a@example.com"), Json::array(), Json::array({1}), Json(nullptr)}) {
    EXPECT_EQ(per_recipient_plan(letter(to)).error().code, ErrorCode::invalid_argument) << to;
  }
}

TEST_F(PlanRunnerTest, AnUndoThatCannotBeCalledIsRefusedBeforeTheFirstStep) {
  Plan plan = trip();
  world_.policy.tools["cancel_booking"] = world_.policy.tools["refund_payment"];
  plan.steps[1].undo->action = "cancel_booking";
  EXPECT_NE(refused(plan).message.find("cancel_booking"), std::string::npos);
  EXPECT_TRUE(world_.provider.calls.empty());
}

TEST_F(PlanRunnerTest, AnUndoThatItsToolRefusesIsAPartialFailure) {
  world_.policy.tools["refund_payment"].fields["amount"] = {FieldRule::minor_units};
  fail_mails();
  Plan plan = trip();
  plan.steps[0].undo->params["amount"] = "all of it";
  const auto answer = submit(plan);
  EXPECT_EQ(answer.status, S::failed_final);
  EXPECT_EQ(answer.error_code, "partial_failure");
  EXPECT_EQ(answer.steps.at(0).undo->error_code, "undo_refused");
}

// Workers that race on one plan: whatever they are told, each step has one effect.
TEST_F(PlanRunnerTest, TwoWorkersOnOnePlanMakeEachEffectOnce) {
  int inside = 0;
  world_.provider.at = [&](std::string_view point) {
    if (point != "call" || inside++ > 0) return;
    auto other = parts();
    other.owner = "w2";
    EXPECT_EQ(PlanRunner(other).submit(trip())->status, S::in_progress);
  };
  EXPECT_EQ(submit().status, S::succeeded);
  EXPECT_EQ(submit().status, S::succeeded);
  EXPECT_EQ(world_.provider.effects.size(), 2U);
  EXPECT_EQ(world_.mailer.effects.size(), 1U);
}

}  // namespace
}  // namespace onceproof
