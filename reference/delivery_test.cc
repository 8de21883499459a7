// Parameters that are kept, and what follows a success: the reconciler delivers without a caller.
#include <gtest/gtest.h>

#include "reference/executor_world.h"

namespace onceproof {
namespace {

using Reply = LedgerProvider::Reply;
using S = AnswerStatus;

// Payments keep their parameters, and a receipt follows each of them.
class DeliveryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ToolPolicy& payments = world_.policy.tools["create_payment"];
    payments.keep_params = true;
    ToolPolicy mails = payments;
    mails.fields.clear();
    world_.policy.tools["send_email"] = mails;
    payments.follow_ups = {{"receipt",
                            "send_email",
                            {{"to", "customer"},
                             {"text", "Payment ${external_id} of ${params.amount_minor}"},
                             {"order", "${params.order_id}"}}}};
    worker_ = world_.start("w1");
  }
  Operation receipt() {
    return world_.journal.load(world_.operation().operation_key + "/receipt").value();
  }
  void settle(int passes = 30) {
    for (int i = 0; i < passes; ++i) {
      world_.pass(100);
      worker_->reconcile();
    }
  }

  World world_{searchable_guarantees()};
  std::unique_ptr<WorldWorker> worker_;
};

TEST_F(DeliveryTest, AReceiptFollowsThePaymentOnce) {
  EXPECT_EQ(worker_->submit().status, S::succeeded);
  EXPECT_EQ(receipt().status, Status::pending);
  EXPECT_EQ(receipt().intent_id, "order-817/intent-01/receipt");
  EXPECT_EQ(receipt().parent_key, world_.operation().operation_key);
  EXPECT_TRUE(world_.mailer.calls.empty());  // nothing but the payment is done in the caller's time
  settle();
  EXPECT_EQ(receipt().status, Status::succeeded);
  ASSERT_EQ(world_.mailer.effects.size(), 1U);
  EXPECT_EQ(world_.mailer.effects[0].params,
            (Json{{"to", "customer"}, {"text", "Payment pay_1 of 490000"}, {"order", "817"}}));
  EXPECT_EQ(world_.mailer.effects[0].key, world_.operation().operation_key + "/receipt");
  EXPECT_EQ(worker_->submit().status, S::succeeded);  // a repeat makes no second receipt
  settle();
  EXPECT_EQ(world_.mailer.calls.size(), 1U);
}

TEST_F(DeliveryTest, AReceiptFollowsAlsoASuccessThatTheReconcilerFound) {
  world_.provider.replies = {Reply::lost_after_commit};
  EXPECT_EQ(worker_->submit().status, S::verification_required);
  settle();
  EXPECT_EQ(world_.operation().status, Status::succeeded);
  ASSERT_EQ(world_.mailer.effects.size(), 1U);
  EXPECT_EQ(world_.mailer.effects[0].params["text"], "Payment pay_1 of 490000");
}

TEST_F(DeliveryTest, NothingFollowsAFailure) {
  world_.provider.on_call = [](const CallRequest&) {
    return CallOutcome{OutcomeKind::rejected, {}, nullptr, "card_declined", {}};
  };
  EXPECT_EQ(worker_->submit().status, S::failed_final);
  settle();
  EXPECT_TRUE(world_.mailer.calls.empty());
}

TEST_F(DeliveryTest, ALostReceiptIsFoundAndNotSentTwice) {
  world_.mailer.replies = {Reply::lost_after_commit};
  worker_->submit();
  settle();
  EXPECT_EQ(receipt().status, Status::succeeded);
  EXPECT_EQ(world_.mailer.effects.size(), 1U);
  EXPECT_EQ(world_.mailer.calls.size(), 1U);
}

TEST_F(DeliveryTest, WhatWasProvedAbsentIsSentAgainWithoutItsCaller) {
  world_.provider.replies = {Reply::lost_before_commit};
  EXPECT_EQ(worker_->submit().status, S::verification_required);
  const auto params = world_.provider.calls.at(0).params;
  settle();
  EXPECT_EQ(world_.operation().status, Status::succeeded);
  ASSERT_EQ(world_.provider.calls.size(), 2U);
  EXPECT_EQ(world_.provider.calls[1].params, params);
  EXPECT_EQ(world_.provider.calls[1].operation_key, world_.provider.calls[0].operation_key);
  EXPECT_EQ(world_.provider.effects.size(), 1U);
}

TEST_F(DeliveryTest, TheParametersAreGoneWhenTheOperationHasEnded) {
  world_.provider.replies = {Reply::lost_before_commit};
  worker_->submit();
  EXPECT_NE(world_.operation().sealed_params, "");
  EXPECT_EQ(world_.operation().sealed_params.find("490000"), std::string::npos);
  settle();
  EXPECT_EQ(world_.operation().sealed_params, "");
}

// Another process may have the key: nothing is claimed, and nothing is a person's business yet.
TEST_F(DeliveryTest, AReconcilerWithoutTheKeyLeavesItToOthers) {
  world_.provider.replies = {Reply::lost_before_commit};
  worker_->submit();
  const auto sealer = world_.sealer;
  world_.sealer = Sealer::from_text(std::string(64, 'b'), "another").value();
  settle();
  EXPECT_EQ(world_.operation().status, Status::pending);
  EXPECT_EQ(world_.operation().attempt_count, 1);
  world_.sealer = sealer;
  world_.pass(5'000);
  settle();
  EXPECT_EQ(world_.operation().status, Status::succeeded);
}

TEST_F(DeliveryTest, TwoDeliverersMakeOneCall) {
  worker_->submit();
  const auto other = world_.start("w2");
  world_.mailer.at = [&](std::string_view point) {
    if (point == "call") other->reconcile();  // while the first one is calling
  };
  settle();
  EXPECT_EQ(world_.mailer.calls.size(), 1U);
  EXPECT_EQ(receipt().status, Status::succeeded);
}

TEST_F(DeliveryTest, WithoutAKeyNothingIsRegistered) {
  auto parts = world_.parts(world_.journal, "w1");
  parts.sealer = nullptr;
  const auto answer = Executor(parts).submit(payment_intent());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(answer.error().message.find("ONCEPROOF_KEY_FILE"), std::string::npos);
  EXPECT_TRUE(world_.journal.list({}).value().empty());
}

TEST_F(DeliveryTest, AReceiptThatCannotBeMadeIsNotedAndThePaymentStands) {
  world_.policy.tools["create_payment"].follow_ups[0].params["to"] = "${params.email}";
  EXPECT_EQ(worker_->submit().status, S::succeeded);
  EXPECT_EQ(world_.count_events("follow_up_refused"), 1U);
}

TEST_F(DeliveryTest, AnIntentLeavesRoomForItsSteps) {
  const auto submit = [&](std::size_t size) {
    return worker_->executor.submit(payment_intent(std::string(size, 'x')));
  };
  EXPECT_TRUE(submit(192));
  EXPECT_EQ(submit(193).error().code, ErrorCode::invalid_argument);
}

// --- rules that change while operations are open

TEST(HashVersionTest, AnOperationIsComparedByTheRulesThatItWasHashedBy) {
  World world(searchable_guarantees());
  const auto worker = world.start("w1");
  Intent intent = payment_intent();
  intent.params["note"] = " gift ";
  EXPECT_EQ(worker->submit(intent).status, S::succeeded);
  // Version 2 trims notes, and an old row has one that is not trimmed.
  ToolPolicy& tool = world.policy.tools["create_payment"];
  tool.hash_version = 2;
  tool.earlier_fields[1] = tool.fields;
  tool.fields["note"] = {FieldRule::absent_if_null, FieldRule::trim};
  EXPECT_EQ(worker->submit(intent).status, S::succeeded);
  intent.params["note"] = "gift";
  EXPECT_EQ(worker->submit(intent).status, S::conflict);  // to version 1 it is another one
  Intent fresh = payment_intent("order-818");
  fresh.params["note"] = " gift ";
  EXPECT_EQ(worker->submit(fresh).status, S::succeeded);
  fresh.params["note"] = "gift";
  EXPECT_EQ(worker->submit(fresh).status, S::succeeded);
  EXPECT_EQ(world.provider.effects.size(), 2U);
}

TEST(HashVersionTest, AVersionThatThePolicyHasForgottenIsAnErrorAndNoConflict) {
  World world(searchable_guarantees());
  const auto worker = world.start("w1");
  worker->submit();
  world.policy.tools["create_payment"].hash_version = 2;
  const auto answer = worker->executor.submit(payment_intent());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::unsupported);
  EXPECT_EQ(world.provider.calls.size(), 1U);
}

TEST_F(DeliveryTest, AFollowUpWithoutAKeyRefusesTheParentBeforeTheCall) {
  world_.policy.tools["create_payment"].keep_params = false;
  auto parts = world_.parts(world_.journal, "w2");
  parts.sealer = nullptr;
  const auto answer = Executor(parts).submit(payment_intent());
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("ONCEPROOF_KEY_FILE"), std::string::npos);
  EXPECT_TRUE(world_.provider.calls.empty());
}

TEST_F(DeliveryTest, AResendWithKeptParametersHasTheFirstBytes) {
  world_.provider.replies = {Reply::lost_before_commit};
  Intent intent = payment_intent();
  intent.params["trace_id"] = "t1";
  worker_->submit(intent);
  world_.pass(1'000);
  intent.params["trace_id"] = "t2";
  EXPECT_EQ(worker_->submit(intent).status, S::succeeded);
  ASSERT_EQ(world_.provider.calls.size(), 2U);
  EXPECT_EQ(world_.provider.calls[1].params, world_.provider.calls[0].params);
}

}  // namespace
}  // namespace onceproof
