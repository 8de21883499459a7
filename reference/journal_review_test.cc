// For every journal: what a person resolves, and what follows a success.
#include "reference/journal_conformance.h"

namespace onceproof {
namespace {

using How = Resolution::How;

class JournalReviewTest : public JournalTest {
 protected:
  Resolution resolution(How how, int n = 1) {
    return {how, how == How::succeeded ? "pay_7" : "", "olga", "seen in the ledger",
            load(n).event_count};
  }
  static Operation kept(int n, std::string parent = "") {
    Operation operation = sample(n);
    operation.sealed_params = "sealed";
    operation.parent_key = std::move(parent);
    return operation;
  }
  std::string due(std::chrono::seconds now) {
    return keys_of(journal().take_due(at(now), 1000s, 100).value());
  }
};

INSTANTIATE_TEST_SUITE_P(Implementations, JournalReviewTest, ::testing::ValuesIn(kImplementations),
                         implementation_name);

// --- reviews

TEST_P(JournalReviewTest, SucceededEndsItWithTheEffectThatWasSeen) {
  in_review();
  const auto done = journal().resolve(key(1), resolution(How::succeeded), {}, at(2000s)).value();
  EXPECT_EQ(done.status, Status::succeeded);
  EXPECT_EQ(done.external_id, "pay_7");
  EXPECT_EQ(done.resolved_by, "olga");
  EXPECT_EQ(done.error_code, "");
  EXPECT_FALSE(done.review_since || done.unknown_since || done.next_check_at);
  EXPECT_EQ(done.updated_at, at(2000s));
  EXPECT_EQ(describe(load()), describe(done));
  EXPECT_EQ(describe(last_event()),
            "op_0001 #5 @2000 olga unknown -> succeeded resolved succeeded, external_id pay_7: "
            "seen in the ledger");
}

TEST_P(JournalReviewTest, FailedEndsItWithoutAnEffect) {
  in_review();
  const auto done = journal().resolve(key(1), resolution(How::failed), {}, at(2000s)).value();
  EXPECT_EQ(done.status, Status::failed_final);
  EXPECT_EQ(done.error_code, "resolved_failed");
  EXPECT_EQ(done.external_id, "");
  EXPECT_EQ(last_event().detail, "failed: seen in the ledger");
}

TEST_P(JournalReviewTest, AbsentAllowsAnotherCall) {
  in_review();
  const auto done = journal().resolve(key(1), resolution(How::absent), {}, at(2000s)).value();
  EXPECT_EQ(done.status, Status::pending);
  EXPECT_FALSE(done.review_since || done.unknown_since);
  EXPECT_EQ(done.attempt_count, 1);
  EXPECT_EQ(due(9000s), "");  // its parameters are not kept: it waits for a submit
  EXPECT_EQ(journal().claim(claim_of(1, 1, 2001s)).value().operation.attempt_count, 2);
}

TEST_P(JournalReviewTest, ResolvingTwiceIsRefused) {
  in_review();
  const auto once = resolution(How::succeeded);
  journal().resolve(key(1), once, {}, at(2000s)).value();
  expect_refused(ErrorCode::stale_attempt,
                 [&](Journal& j) { return j.resolve(key(1), once, {}, at(2001s)); });
  auto newer = once;
  newer.seen = load().event_count;
  expect_refused(ErrorCode::stale_attempt,
                 [&](Journal& j) { return j.resolve(key(1), newer, {}, at(2001s)); });
}

TEST_P(JournalReviewTest, ResolvingWhatChangedMeanwhileIsRefused) {
  in_review();
  auto stale = resolution(How::absent);
  journal().mark_succeeded(key(1), 1, {"pay_1"}, at(1500s), "w1").value();  // a late reply
  expect_refused(ErrorCode::stale_attempt,
                 [&](Journal& j) { return j.resolve(key(1), stale, {}, at(2000s)); });
}

TEST_P(JournalReviewTest, ResolvingAgainstAnOlderViewIsRefused) {
  in_review();
  auto stale = resolution(How::absent);
  --stale.seen;
  expect_refused(ErrorCode::stale_attempt,
                 [&](Journal& j) { return j.resolve(key(1), stale, {}, at(2000s)); });
}

TEST_P(JournalReviewTest, OnlyWhatIsInReviewCanBeResolved) {
  registered(1), claimed(2), unknown(3), succeeded(4), failed(5);
  for (int n = 1; n <= 5; ++n) {
    expect_refused(
        ErrorCode::stale_attempt,
        [&](Journal& j) { return j.resolve(key(n), resolution(How::failed, n), {}, at(2000s)); },
        n);
  }
  EXPECT_EQ(journal().resolve(key(9), {How::failed, "", "olga", "why", 1}, {}, at(1s)).error().code,
            ErrorCode::not_found);
}

TEST_P(JournalReviewTest, AResolutionSaysWhoAndWhyAndNamesAnEffectOnlyIfThereIsOne) {
  in_review();
  const auto seen = load().event_count;
  const Resolution wrong[] = {
      {How::succeeded, "", "olga", "why", seen},
      {How::absent, "pay_1", "olga", "why", seen},
      {How::failed, "pay_1", "olga", "why", seen},
      {How::absent, "", "", "why", seen},
      {How::absent, "", "olga", "", seen},
      {How::absent, "", "olga", std::string(501, 'x'), seen},
      {How::absent, "", std::string(201, 'x'), "why", seen},
  };
  for (const auto& one : wrong) {
    expect_refused(ErrorCode::invalid_argument,
                   [&](Journal& j) { return j.resolve(key(1), one, {}, at(2000s)); });
  }
}

TEST_P(JournalReviewTest, ListsWhatIsInReviewPageByPage) {
  for (const int n : {1, 2, 3}) in_review(n);
  unknown(4);
  const auto page = [&](std::string after, std::size_t limit) {
    return keys_of(
        journal().list({.in_review = true, .after_key = std::move(after), .limit = limit}).value());
  };
  EXPECT_EQ(page("", 2), "op_0001 op_0002 ");
  EXPECT_EQ(page("op_0002", 2), "op_0003 ");
  EXPECT_EQ(page("op_0003", 2), "");
  EXPECT_EQ(keys_of(journal().list({.after_key = "op_0002"}).value()), "op_0003 op_0004 ");
}

// --- parameters that are kept

TEST_P(JournalReviewTest, WithKeptParametersAPendingOperationIsDueByItself) {
  journal().register_operation(kept(1), "shop").value();
  registered(2);
  EXPECT_EQ(due(0s), "op_0001 ");
  journal().claim(claim_of(1, 0, 1s)).value();
  EXPECT_EQ(due(31s), "");  // the lease, not the hold, counts now
  EXPECT_EQ(due(32s), "op_0001 ");
}

TEST_P(JournalReviewTest, ReleasedItIsDueAgainAtItsTime) {
  journal().register_and_claim(kept(1), "w1", at(30s)).value();
  journal().register_and_claim(kept(2), "w1", at(30s)).value();
  journal().release_for_retry(key(1), 1, "not_started", at(50s), at(5s), "w1").value();
  journal().release_for_retry(key(2), 1, "absent", {}, at(5s), "w1").value();
  EXPECT_EQ(due(4s), "");
  EXPECT_EQ(due(5s), "op_0002 ");
  EXPECT_EQ(due(49s), "");
  EXPECT_EQ(due(50s), "op_0001 ");
}

TEST_P(JournalReviewTest, ResolvedAsAbsentItIsDueAtOnce) {
  journal().register_and_claim(kept(1), "w1", at(30s)).value();
  journal().escalate(key(1), 1, "unknown_after", at(40s), "w1").value();
  EXPECT_EQ(due(50s), "");
  journal().resolve(key(1), resolution(How::absent), {}, at(60s)).value();
  EXPECT_EQ(load().sealed_params, "sealed");
  EXPECT_EQ(due(60s), "op_0001 ");
}

TEST_P(JournalReviewTest, TheEndErasesThem) {
  for (int n = 1; n <= 4; ++n) journal().register_and_claim(kept(n), "w1", at(30s)).value();
  EXPECT_EQ(load(1).sealed_params, "sealed");
  journal().mark_succeeded(key(1), 1, {"pay_1"}, at(2s), "w1").value();
  journal().mark_failed_final(key(2), 1, {"declined"}, at(2s), "w1").value();
  for (const int n : {3, 4}) journal().escalate(key(n), 1, "unknown_after", at(40s), "w1").value();
  journal().resolve(key(3), resolution(How::failed, 3), {}, at(60s)).value();
  journal().resolve(key(4), resolution(How::succeeded, 4), {}, at(60s)).value();
  for (int n = 1; n <= 4; ++n) EXPECT_EQ(load(n).sealed_params, "") << n;
  EXPECT_EQ(due(9000s), "");
}

TEST_P(JournalReviewTest, ARejectionMayLeaveAResult) {
  claimed();
  const Json result = {{"status", 422}};
  const auto done =
      journal().mark_failed_final(key(1), 1, {"http_422", result}, at(2s), "w1").value();
  EXPECT_EQ(done.result, result);
  EXPECT_EQ(load().result, result);
}

// --- follow-ups

TEST_P(JournalReviewTest, ASuccessRegistersItsFollowUps) {
  claimed();
  journal()
      .mark_succeeded(key(1), 1, {"pay_1", nullptr, {kept(2, key(1)), kept(3, key(1))}}, at(2s),
                      "w1")
      .value();
  EXPECT_EQ(keys_of(journal().children(key(1)).value()), "op_0002 op_0003 ");
  EXPECT_EQ(load(2).status, Status::pending);
  EXPECT_EQ(load(2).parent_key, key(1));
  EXPECT_EQ(due(2s), "op_0002 op_0003 ");
  EXPECT_EQ(describe(last_event(2)), "op_0002 #1 @0 w1 - -> pending registered ");
  EXPECT_EQ(keys_of(journal().children(key(2)).value()), "");
}

TEST_P(JournalReviewTest, OnlyTheCallThatEndsItRegistersThem) {
  succeeded(1);
  failed(2);
  const Journal::Success late{"pay_2", nullptr, {kept(3, key(1))}};
  EXPECT_TRUE(journal().mark_succeeded(key(1), 1, late, at(9s), "w1").value().duplicate);
  EXPECT_TRUE(journal().mark_succeeded(key(2), 1, late, at(9s), "w1").value().duplicate);
  const Journal::Success again{"pay_1", nullptr, {kept(3, key(1))}};
  EXPECT_FALSE(journal().mark_succeeded(key(1), 1, again, at(9s), "w1").value().duplicate);
  EXPECT_EQ(journal().load(key(3)).error().code, ErrorCode::not_found);
}

TEST_P(JournalReviewTest, AResolutionRegistersThemToo) {
  for (const int n : {1, 2}) in_review(n);
  journal().resolve(key(1), resolution(How::succeeded), {kept(3, key(1))}, at(2000s)).value();
  journal().resolve(key(2), resolution(How::failed, 2), {kept(4, key(2))}, at(2000s)).value();
  EXPECT_EQ(load(3).parent_key, key(1));
  EXPECT_EQ(journal().load(key(4)).error().code, ErrorCode::not_found);
}

TEST_P(JournalReviewTest, AFactIsNotLostForWhatShouldFollowIt) {
  claimed(1);
  succeeded(2);
  Operation key_taken = kept(2, key(1));
  key_taken.intent_id = "another";
  Operation intent_taken = kept(3, key(1));
  intent_taken.intent_id = sample(2).intent_id;
  Operation unmakeable = kept(4, key(1));
  unmakeable.error_code = "${params.email}: there is none";
  const auto done =
      journal()
          .mark_succeeded(
              key(1), 1, {"pay_1", nullptr, {key_taken, intent_taken, unmakeable, kept(5, key(1))}},
              at(2s), "w1")
          .value();
  EXPECT_EQ(done.operation.status, Status::succeeded);
  EXPECT_EQ(keys_of(journal().children(key(1)).value()), "op_0005 ");
  const auto written = events(1);
  ASSERT_EQ(written.size(), 6u);
  for (std::size_t i = 3; i < 6; ++i) {
    EXPECT_EQ(written[i].reason, "follow_up_refused");
    EXPECT_EQ(written[i].to_status, Status::succeeded);
  }
  EXPECT_NE(written[3].detail.find("belongs to another intent"), std::string::npos);
  EXPECT_EQ(written[4].detail, "op_0003: its intent is another operation");
  EXPECT_EQ(written[5].detail, "op_0004: ${params.email}: there is none");
  EXPECT_EQ(load(1).event_count, 6);
}

}  // namespace
}  // namespace onceproof
