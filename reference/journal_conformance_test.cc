// One suite for every journal: each sentence of journal.h, but for reviews and follow-ups
// (journal_review_test.cc).
#include <atomic>
#include <barrier>
#include <set>
#include <thread>

#include "reference/journal_conformance.h"

namespace onceproof {
namespace {

INSTANTIATE_TEST_SUITE_P(Implementations, JournalTest, ::testing::ValuesIn(kImplementations),
                         [](const auto& given) { return std::string(given.param.name); });

// --- registration

TEST_P(JournalTest, RegistrationIsPendingWhateverElseTheCallerFilledIn) {
  Operation wish = sample(1);
  wish.status = Status::succeeded;
  wish.attempt_count = 7;
  wish.external_id = "pay_9";
  wish.lease_owner = "w9";
  wish.review_since = at(1s);
  const auto done = journal().register_operation(wish, "w1").value();
  EXPECT_TRUE(done.created);
  EXPECT_EQ(describe(done.operation), describe(sample(1)));
  EXPECT_EQ(describe(load()), describe(sample(1)));
}

TEST_P(JournalTest, RegistrationWritesItsEvent) {
  registered();
  const auto written = events();
  ASSERT_EQ(written.size(), 1u);
  EXPECT_EQ(describe(written[0]), "op_0001 #1 @0 w1 - -> pending registered ");
}

TEST_P(JournalTest, ASecondRegistrationOfAnIntentReadsTheFirst) {
  const auto first = succeeded();
  Operation again = sample(1);
  again.operation_key = "another_key";
  again.request_hash = std::string(64, 'f');
  for (const auto& done : {journal().register_operation(again, "w2").value(),
                           journal().register_and_claim(again, "w2", at(99s)).value()}) {
    EXPECT_FALSE(done.created);
    EXPECT_EQ(describe(done.operation), describe(first));
  }
  EXPECT_EQ(journal().load("another_key").error().code, ErrorCode::not_found);
  EXPECT_EQ(events().size(), 3u);
}

TEST_P(JournalTest, AKeyBelongsToOneIntent) {
  registered(1);
  Operation other = sample(2);
  other.operation_key = key(1);
  expect_refused(ErrorCode::already_exists,
                 [&](Journal& j) { return j.register_operation(other, "w1"); });
  expect_refused(ErrorCode::already_exists,
                 [&](Journal& j) { return j.register_and_claim(other, "w1", at(9s)); });
  EXPECT_EQ(journal().find("t1", "create_payment", other.intent_id).value(), std::nullopt);
}

TEST_P(JournalTest, TenantActionAndIntentTogetherNameAnIntent) {
  registered(1);
  int n = 10;
  for (auto member : {&Operation::tenant, &Operation::action_type, &Operation::intent_id}) {
    Operation other = sample(1);
    other.*member = "other";
    other.operation_key = key(n++);
    EXPECT_TRUE(journal().register_operation(other, "w1").value().created);
  }
  // Not glued together: ("a", "bc") is not ("ab", "c").
  Operation a = sample(20), b = sample(21);
  a.tenant = "a", a.action_type = "bc", b.tenant = "ab", b.action_type = "c";
  a.intent_id = b.intent_id = "i";
  EXPECT_TRUE(journal().register_operation(a, "w1").value().created);
  EXPECT_TRUE(journal().register_operation(b, "w1").value().created);
}

TEST_P(JournalTest, RegistrationsOfAWrongFormAreRefusedWithTheMember) {
  const auto refusal = [&](auto change) {
    Operation wrong = sample(1);
    change(wrong);
    const auto done = journal().register_operation(wrong, "w1");
    return done ? std::string("accepted") : done.error().message;
  };
  EXPECT_TRUE(
      refusal([](Operation& o) { o.operation_key = "a b"; }).starts_with("operation_key: "));
  EXPECT_TRUE(
      refusal([](Operation& o) { o.tenant = std::string(201, 't'); }).starts_with("tenant: "));
  EXPECT_TRUE(refusal([](Operation& o) { o.intent_id = ""; }).starts_with("intent_id: "));
  EXPECT_TRUE(refusal([](Operation& o) {
                o.intent_id = std::string(201, 'i');
              }).starts_with("intent_id: "));
  EXPECT_TRUE(refusal([](Operation& o) { o.action_type = ""; }).starts_with("action_type: "));
  EXPECT_TRUE(refusal([](Operation& o) {
                o.action_type = std::string(81, 'a');
              }).starts_with("action_type: "));
  EXPECT_TRUE(refusal([](Operation& o) { o.request_hash = "abc"; }).starts_with("request_hash: "));
  EXPECT_TRUE(refusal([](Operation& o) {
                o.request_hash = std::string(64, 'F');
              }).starts_with("request_hash: "));
  EXPECT_TRUE(journal().list({.limit = 10}).value().empty());
}

TEST_P(JournalTest, KeepsTextsOfEveryKind) {
  Operation odd = sample(1);
  odd.tenant = "";
  odd.intent_id = "заказ 817/\"1\"'; DROP TABLE x;--";
  odd.field_digests = {{"поле \"1\"", "0123456789abcdef"}, {"", "fedcba9876543210"}};
  odd.hash_version = 3;
  journal().register_operation(odd, "w 1").value();
  EXPECT_EQ(describe(load()), describe(odd));
  const auto found = journal().find("", odd.action_type, odd.intent_id).value();
  ASSERT_TRUE(found);
  EXPECT_EQ(describe(*found), describe(odd));
}

TEST_P(JournalTest, RegisterAndClaimBeginsTheFirstAttempt) {
  const auto operation = claimed();
  EXPECT_EQ(operation.status, Status::in_progress);
  EXPECT_EQ(operation.attempt_count, 1);
  EXPECT_EQ(operation.first_attempt_at, at(0s));
  EXPECT_EQ(operation.last_attempt_at, at(0s));
  EXPECT_EQ(operation.lease_owner, "w1");
  EXPECT_EQ(operation.lease_until, at(30s));
  EXPECT_EQ(describe(load()), describe(operation));
  const auto written = events();
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(describe(written[0]), "op_0001 #1 @0 w1 - -> pending registered ");
  EXPECT_EQ(describe(written[1]), "op_0001 #2 @0 w1 pending -> in_progress claimed attempt 1");
}

TEST_P(JournalTest, RegisterAndClaimLeavesAKnownOperationAsItIs) {
  const auto operation = registered();
  EXPECT_EQ(describe(journal().register_and_claim(sample(1), "w2", at(30s)).value().operation),
            describe(operation));
  EXPECT_EQ(describe(load()), describe(operation));
}

// --- claim

TEST_P(JournalTest, ClaimTakesWhatIsPending) {
  registered();
  const auto claim = journal().claim(claim_of(1, 0)).value();
  EXPECT_EQ(claim.prior_status, Status::pending);
  EXPECT_EQ(claim.operation.status, Status::in_progress);
  EXPECT_EQ(claim.operation.attempt_count, 1);
  EXPECT_EQ(claim.operation.first_attempt_at, at(60s));
  EXPECT_EQ(claim.operation.last_attempt_at, at(60s));
  EXPECT_EQ(claim.operation.lease_owner, "w2");
  EXPECT_EQ(claim.operation.lease_until, at(90s));
  EXPECT_EQ(describe(load()), describe(claim.operation));
  EXPECT_EQ(describe(last_event()), "op_0001 #2 @60 w2 pending -> in_progress claimed attempt 1");
}

TEST_P(JournalTest, ClaimTakesWhatIsUnknownAndKeepsItsHistory) {
  const auto before = unknown();
  const auto claim = journal().claim(claim_of(1, 1)).value();
  EXPECT_EQ(claim.prior_status, Status::unknown);
  EXPECT_EQ(claim.operation.attempt_count, 2);
  EXPECT_EQ(claim.operation.first_attempt_at, at(0s));
  EXPECT_EQ(claim.operation.last_attempt_at, at(60s));
  EXPECT_EQ(claim.operation.unknown_since, before.unknown_since);
  EXPECT_EQ(claim.operation.next_check_at, std::nullopt);
}

TEST_P(JournalTest, ClaimTakesADeadLeaseButNotALivingOne) {
  claimed();  // until 30 s
  for (const auto now : {29s, 30s}) {
    expect_refused(ErrorCode::lease_held, [&](Journal& j) { return j.claim(claim_of(1, 1, now)); });
  }
  const auto claim = journal().claim({key(1), 1, "w2", at(30s) + 1ms, at(60s)}).value();
  EXPECT_EQ(claim.prior_status, Status::in_progress);
  EXPECT_EQ(claim.operation.attempt_count, 2);
}

TEST_P(JournalTest, ClaimNeedsTheAttemptThatTheCallerRead) {
  unknown();
  expect_refused(ErrorCode::stale_attempt, [&](Journal& j) { return j.claim(claim_of(1, 0)); });
  expect_refused(ErrorCode::stale_attempt, [&](Journal& j) { return j.claim(claim_of(1, 2)); });
  journal().claim(claim_of(1, 1)).value();
  expect_refused(ErrorCode::lease_held,
                 [&](Journal& j) { return j.claim(claim_of(1, 1)); });  // somebody was faster
  expect_refused(ErrorCode::stale_attempt,
                 [&](Journal& j) { return j.claim(claim_of(1, 1, 600s)); });
}

TEST_P(JournalTest, ClaimTakesNothingThatEndedOrIsInReview) {
  succeeded(1);
  expect_refused(
      ErrorCode::stale_attempt, [&](Journal& j) { return j.claim(claim_of(1, 1)); }, 1);
  failed(2);
  expect_refused(
      ErrorCode::stale_attempt, [&](Journal& j) { return j.claim(claim_of(2, 1)); }, 2);
  in_review(3);
  expect_refused(
      ErrorCode::stale_attempt, [&](Journal& j) { return j.claim(claim_of(3, 1, 9999s)); }, 3);
  EXPECT_EQ(journal().claim(claim_of(4, 0)).error().code, ErrorCode::not_found);
}

TEST_P(JournalTest, OfConcurrentClaimsExactlyOneSucceeds) {
  constexpr int kThreads = 8, kRounds = 25;
  for (int n = 1; n <= kRounds; ++n) registered(n);
  std::vector<std::atomic<int>> winners(kRounds + 1);
  std::atomic<int> odd = 0;
  std::barrier start(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int n = 1; n <= kRounds; ++n) {
          start.arrive_and_wait();
          const auto claim = door(static_cast<std::size_t>(t))
                                 .claim({key(n), 0, fmt::format("w{}", t), at(60s), at(90s)});
          if (claim) {
            ++winners[static_cast<std::size_t>(n)];
          } else if (claim.error().code != ErrorCode::lease_held) {
            ++odd;
          }
        }
      });
    }
  }
  EXPECT_EQ(odd, 0);
  for (int n = 1; n <= kRounds; ++n) {
    EXPECT_EQ(winners[static_cast<std::size_t>(n)], 1) << n;
    EXPECT_EQ(load(n).attempt_count, 1);
    EXPECT_EQ(events(n).size(), 2u);
  }
}

TEST_P(JournalTest, OfConcurrentRegistrationsExactlyOneCreates) {
  constexpr int kThreads = 8, kRounds = 25;
  std::atomic<int> created = 0, failures = 0;
  std::barrier start(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int n = 1; n <= kRounds; ++n) {
          Operation mine = sample(n);
          mine.operation_key = fmt::format("op_{}_{}", n, t);  // each brings a key of its own
          start.arrive_and_wait();
          const auto done = door(static_cast<std::size_t>(t))
                                .register_and_claim(mine, fmt::format("w{}", t), at(30s));
          if (!done) {
            ++failures;
          } else if (done->created) {
            ++created;
          }
        }
      });
    }
  }
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(created, kRounds);
  EXPECT_EQ(journal().list({.limit = 1000}).value().size(), std::size_t{kRounds});
}

// --- success

TEST_P(JournalTest, SuccessIsRecordedWithItsResult) {
  claimed();
  const Json result = {{"status", "ok"}, {"note", "ä\n\"ё"}, {"n", 1.5}, {"list", {1, nullptr}}};
  const auto done = journal().mark_succeeded(key(1), 1, {"pay_1", result}, at(2s), "w1").value();
  EXPECT_FALSE(done.duplicate);
  EXPECT_EQ(done.operation.status, Status::succeeded);
  EXPECT_EQ(done.operation.external_id, "pay_1");
  EXPECT_EQ(done.operation.result, result);
  EXPECT_EQ(done.operation.lease_until, std::nullopt);
  EXPECT_EQ(done.operation.lease_owner, "");
  EXPECT_EQ(done.operation.updated_at, at(2s));
  EXPECT_EQ(describe(load()), describe(done.operation));
  EXPECT_EQ(describe(last_event()),
            "op_0001 #3 @2 w1 in_progress -> succeeded confirmed attempt 1, external_id pay_1");
}

TEST_P(JournalTest, SuccessIsRecordedWhateverIsOpen) {
  const auto succeed = [&](int n) {
    const auto done =
        journal().mark_succeeded(key(n), 1, {"pay_1", nullptr}, at(2000s), "w1").value();
    EXPECT_FALSE(done.duplicate);
    EXPECT_EQ(done.operation.status, Status::succeeded) << n;
    EXPECT_EQ(done.operation.result, nullptr);
    EXPECT_EQ(done.operation.review_since, std::nullopt);
    EXPECT_EQ(done.operation.unknown_since, std::nullopt);
    EXPECT_EQ(done.operation.next_check_at, std::nullopt);
    EXPECT_EQ(done.operation.error_code, "");
    EXPECT_EQ(done.operation.check_count, 0);
  };
  unknown(1);
  succeed(1);
  unknown(2);
  journal().release_for_retry(key(2), 1, "absent", at(60s), at(50s), "w1").value();
  succeed(2);  // absent was wrong, or the answer came late
  in_review(3);
  succeed(3);
  registered(4);
  succeed(4);
}

TEST_P(JournalTest, SuccessOfAStaleAttemptIsRecordedAndTheNewOneBounces) {
  unknown();
  journal().claim(claim_of(1, 1)).value();
  const auto done = journal().mark_succeeded(key(1), 1, {"pay_1", nullptr}, at(61s), "w1").value();
  EXPECT_FALSE(done.duplicate);
  EXPECT_EQ(done.operation.status, Status::succeeded);
  EXPECT_EQ(done.operation.attempt_count, 2);
  EXPECT_EQ(last_event().detail, "attempt 1 of 2, external_id pay_1");
  expect_refused(ErrorCode::stale_attempt, [&](Journal& j) {
    return j.mark_unknown(key(1), 2, "timeout", at(70s), at(62s), "w2");
  });
  expect_refused(ErrorCode::stale_attempt,
                 [&](Journal& j) { return j.mark_failed_final(key(1), 2, {"no"}, at(62s), "w2"); });
}

TEST_P(JournalTest, TheSameSuccessTwiceChangesNothing) {
  const auto first = succeeded();
  const auto again =
      journal().mark_succeeded(key(1), 1, {"pay_1", {{"other", 1}}}, at(99s), "w2").value();
  EXPECT_FALSE(again.duplicate);
  EXPECT_EQ(describe(again.operation), describe(first));
  EXPECT_EQ(events().size(), 3u);
}

TEST_P(JournalTest, AnotherEffectIsADuplicateAndNothingButAnEvent) {
  auto first = succeeded();
  const auto done =
      journal().mark_succeeded(key(1), 2, {"pay_2", {{"other", 1}}}, at(99s), "w2").value();
  EXPECT_TRUE(done.duplicate);
  ++first.event_count;
  EXPECT_EQ(describe(done.operation), describe(first));
  EXPECT_EQ(describe(load()), describe(first));
  EXPECT_EQ(describe(last_event()),
            "op_0001 #4 @99 w2 succeeded -> succeeded duplicate_effect attempt 2 of 1, external_id "
            "pay_2");
}

TEST_P(JournalTest, AnEffectOfAFailedOperationIsADuplicateToo) {
  auto first = failed();
  const auto done = journal().mark_succeeded(key(1), 1, {"pay_1", nullptr}, at(99s), "w2").value();
  EXPECT_TRUE(done.duplicate);
  ++first.event_count;
  EXPECT_EQ(describe(load()), describe(first));
  EXPECT_EQ(last_event().reason, "duplicate_effect");
}

TEST_P(JournalTest, SuccessNeedsAnExternalId) {
  claimed();
  expect_refused(ErrorCode::invalid_argument, [&](Journal& j) {
    return j.mark_succeeded(key(1), 1, {"", nullptr}, at(2s), "w1");
  });
  EXPECT_EQ(journal().mark_succeeded(key(9), 1, {"pay_1", nullptr}, at(2s), "w1").error().code,
            ErrorCode::not_found);
}

// --- failure, doubt, release, review

TEST_P(JournalTest, FailureIsFinal) {
  const auto operation = failed();
  EXPECT_EQ(operation.status, Status::failed_final);
  EXPECT_EQ(operation.error_code, "card_declined");
  EXPECT_EQ(operation.lease_until, std::nullopt);
  EXPECT_EQ(describe(load()), describe(operation));
  EXPECT_EQ(describe(last_event()),
            "op_0001 #3 @2 w1 in_progress -> failed_final rejected card_declined");
}

TEST_P(JournalTest, OnlyWhatIsInProgressFails) {
  const auto fail_it = [](int n) {
    return [n](Journal& j) { return j.mark_failed_final(key(n), 1, {"no"}, at(99s), "w1"); };
  };
  registered(1);
  expect_refused(ErrorCode::stale_attempt, fail_it(1), 1);
  unknown(2);
  expect_refused(ErrorCode::stale_attempt, fail_it(2), 2);
  in_review(3);
  expect_refused(ErrorCode::stale_attempt, fail_it(3), 3);
  succeeded(4);
  expect_refused(ErrorCode::stale_attempt, fail_it(4), 4);
  failed(5);
  expect_refused(ErrorCode::stale_attempt, fail_it(5), 5);
  EXPECT_EQ(fail_it(6)(journal()).error().code, ErrorCode::not_found);
}

TEST_P(JournalTest, DoubtEndsTheLeaseAndSetsTheNextCheck) {
  const auto operation = unknown();
  EXPECT_EQ(operation.status, Status::unknown);
  EXPECT_EQ(operation.error_code, "timeout");
  EXPECT_EQ(operation.lease_until, std::nullopt);
  EXPECT_EQ(operation.lease_owner, "");
  EXPECT_EQ(operation.unknown_since, at(5s));
  EXPECT_EQ(operation.next_check_at, at(10s));
  EXPECT_EQ(operation.check_count, 0);
  EXPECT_EQ(describe(load()), describe(operation));
  EXPECT_EQ(describe(last_event()), "op_0001 #3 @5 w1 in_progress -> unknown ambiguous timeout");
}

TEST_P(JournalTest, DoubtThatStaysCountsItsChecks) {
  unknown();
  const auto again = journal().mark_unknown(key(1), 1, "not_found", at(20s), at(11s), "r1").value();
  EXPECT_EQ(again.unknown_since, at(5s));
  EXPECT_EQ(again.next_check_at, at(20s));
  EXPECT_EQ(again.check_count, 1);
  EXPECT_EQ(describe(last_event()), "op_0001 #4 @11 r1 unknown -> unknown still_unknown not_found");
  journal().claim(claim_of(1, 1)).value();
  const auto resent = journal().mark_unknown(key(1), 2, "timeout", at(80s), at(70s), "w2").value();
  EXPECT_EQ(resent.unknown_since, at(5s));  // since the first doubt
  EXPECT_EQ(resent.check_count, 1);         // a resend was no check
  EXPECT_EQ(last_event().reason, "ambiguous");
}

TEST_P(JournalTest, ReleaseMakesItPendingAgain) {
  unknown();
  journal().mark_unknown(key(1), 1, "not_found", at(20s), at(11s), "r1").value();
  const auto operation =
      journal().release_for_retry(key(1), 1, "absent", at(40s), at(25s), "r1").value();
  EXPECT_EQ(operation.status, Status::pending);
  EXPECT_EQ(operation.attempt_count, 1);
  EXPECT_EQ(operation.unknown_since, std::nullopt);
  EXPECT_EQ(operation.check_count, 0);
  EXPECT_EQ(operation.next_check_at, at(40s));
  EXPECT_EQ(operation.first_attempt_at, at(0s));
  EXPECT_EQ(describe(load()), describe(operation));
  EXPECT_EQ(describe(last_event()), "op_0001 #5 @25 r1 unknown -> pending absent attempt 1");
  EXPECT_EQ(journal().claim(claim_of(1, 1)).value().operation.attempt_count, 2);
}

TEST_P(JournalTest, ACallThatNeverStartedIsReleasedFromItsLease) {
  claimed();
  const auto operation =
      journal().release_for_retry(key(1), 1, "not_started", std::nullopt, at(2s), "w1").value();
  EXPECT_EQ(operation.status, Status::pending);
  EXPECT_EQ(operation.lease_until, std::nullopt);
  EXPECT_EQ(operation.next_check_at, std::nullopt);
  EXPECT_EQ(last_event().reason, "not_started");
}

TEST_P(JournalTest, EscalationIsUnknownInReview) {
  const auto operation = in_review();
  EXPECT_EQ(operation.status, Status::unknown);
  EXPECT_EQ(operation.review_since, at(900s));
  EXPECT_EQ(operation.unknown_since, at(5s));
  EXPECT_EQ(operation.next_check_at, std::nullopt);
  EXPECT_EQ(describe(load()), describe(operation));
  EXPECT_EQ(describe(last_event()),
            "op_0001 #4 @900 w1 unknown -> unknown escalated unknown_after");
  claimed(2);
  const auto direct = journal().escalate(key(2), 1, "attempts_exhausted", at(9s), "w1").value();
  EXPECT_EQ(direct.status, Status::unknown);
  EXPECT_EQ(direct.unknown_since, at(9s));
  EXPECT_EQ(direct.lease_until, std::nullopt);
}

TEST_P(JournalTest, EveryWriteButASuccessIsFenced) {
  using Write = std::function<Result<Operation>(Journal&, int, std::int64_t)>;
  const Write writes[] = {
      [](Journal& j, int n, std::int64_t attempt) {
        return j.mark_failed_final(key(n), attempt, {"no"}, at(99s), "w1");
      },
      [](Journal& j, int n, std::int64_t attempt) {
        return j.mark_unknown(key(n), attempt, "x", at(100s), at(99s), "w1");
      },
      [](Journal& j, int n, std::int64_t attempt) {
        return j.release_for_retry(key(n), attempt, "absent", {}, at(99s), "w1");
      },
      [](Journal& j, int n, std::int64_t attempt) {
        return j.escalate(key(n), attempt, "x", at(99s), "w1");
      },
  };
  unknown(1);
  journal().claim(claim_of(1, 1)).value();  // attempt 2 is in progress
  registered(2);
  in_review(3);
  succeeded(4);
  failed(5);
  for (const auto& write : writes) {
    for (const std::int64_t attempt : {0, 1, 3}) {
      expect_refused(
          ErrorCode::stale_attempt, [&](Journal& j) { return write(j, 1, attempt); }, 1);
    }
    expect_refused(
        ErrorCode::stale_attempt, [&](Journal& j) { return write(j, 2, 0); }, 2);
    for (int n = 3; n <= 5; ++n) {
      expect_refused(
          ErrorCode::stale_attempt, [&](Journal& j) { return write(j, n, 1); }, n);
    }
    EXPECT_EQ(write(journal(), 6, 1).error().code, ErrorCode::not_found);
  }
}

// --- reading

TEST_P(JournalTest, LoadAndFind) {
  const auto operation = claimed(2);
  EXPECT_EQ(describe(load(2)), describe(operation));
  EXPECT_EQ(describe(journal().find("t1", "create_payment", "order-2/intent-01").value().value()),
            describe(operation));
  EXPECT_EQ(journal().find("t2", "create_payment", "order-2/intent-01").value(), std::nullopt);
  EXPECT_EQ(journal().load(key(3)).error().code, ErrorCode::not_found);
  EXPECT_TRUE(journal().events(key(3)).value().empty());
}

TEST_P(JournalTest, KeysAreComparedByteForByte) {
  registered(1);
  EXPECT_EQ(journal().load("OP_0001").error().code, ErrorCode::not_found);
  EXPECT_EQ(journal().load("op_0001 ").error().code, ErrorCode::not_found);
}

TEST_P(JournalTest, ListsByStatusInTheOrderOfKeys) {
  for (const int n : {3, 1, 2}) registered(n);
  succeeded(4);
  const auto keys = [&](std::optional<Status> status, std::size_t limit) {
    return keys_of(journal().list({.status = status, .limit = limit}).value());
  };
  EXPECT_EQ(keys(std::nullopt, 100), "op_0001 op_0002 op_0003 op_0004 ");
  EXPECT_EQ(keys(std::nullopt, SIZE_MAX), "op_0001 op_0002 op_0003 op_0004 ");
  EXPECT_EQ(keys(Status::pending, 2), "op_0001 op_0002 ");
  EXPECT_EQ(keys(Status::succeeded, 100), "op_0004 ");
  EXPECT_EQ(keys(Status::unknown, 100), "");
  EXPECT_EQ(keys(std::nullopt, 0), "");
}

// --- what is due

TEST_P(JournalTest, DueAreUnknownsAtTheirCheckAndDeadLeases) {
  unknown(1);  // next check at 10 s
  claimed(2);  // lease until 30 s
  registered(3);
  in_review(4);
  succeeded(5);
  failed(6);
  unknown(7);
  journal().release_for_retry(key(7), 1, "absent", {}, at(8s), "w1").value();
  EXPECT_TRUE(journal().take_due(at(10s) - 1ms, 1s, 100).value().empty());
  EXPECT_EQ(keys_of(journal().take_due(at(10s), 1000s, 100).value()), "op_0001 ");
  EXPECT_TRUE(journal().take_due(at(30s), 1000s, 100).value().empty());  // alive to the last
  EXPECT_EQ(keys_of(journal().take_due(at(30s) + 1ms, 1000s, 100).value()), "op_0002 ");
  EXPECT_TRUE(journal().take_due(at(999s), 1000s, 100).value().empty());
}

TEST_P(JournalTest, WhatWasTakenIsPutOff) {
  unknown(1);
  claimed(2);
  const auto taken = journal().take_due(at(40s), 5s, 100).value();
  EXPECT_EQ(keys_of(taken), "op_0001 op_0002 ");
  EXPECT_EQ(taken[0].next_check_at, at(10s));  // a submit is not kept waiting
  EXPECT_EQ(describe(taken[0]), describe(load(1)));
  EXPECT_EQ(describe(taken[1]), describe(load(2)));
  EXPECT_EQ(events(1).size(), 3u);  // no change of state, so no event
  EXPECT_TRUE(journal().take_due(at(44s), 5s, 100).value().empty());
  EXPECT_EQ(keys_of(journal().take_due(at(45s), 5s, 100).value()), "op_0001 op_0002 ");
  journal().claim(claim_of(2, 1)).value();  // a claim ends the hold: the new lease counts
  EXPECT_EQ(keys_of(journal().take_due(at(90s), 1s, 100).value()), "op_0001 ");
}

TEST_P(JournalTest, TheOldestDueComesFirstAndTheLimitHolds) {
  for (const int n : {1, 2, 3, 4}) {
    claimed(n);
    journal()
        .mark_unknown(key(n), 1, "timeout", at(std::chrono::seconds{50 - 10 * (n % 3)}), at(1s),
                      "w1")
        .value();
  }
  // due at: 1 -> 40, 2 -> 30, 3 -> 50, 4 -> 40
  EXPECT_EQ(keys_of(journal().take_due(at(60s), 100s, 3).value()), "op_0002 op_0001 op_0004 ");
  EXPECT_EQ(keys_of(journal().take_due(at(60s), 100s, 3).value()), "op_0003 ");
  EXPECT_TRUE(journal().take_due(at(60s), 100s, 0).value().empty());
}

TEST_P(JournalTest, ConcurrentReconcilersGetDifferentOperations) {
  constexpr int kThreads = 4, kOperations = 60;
  for (int n = 1; n <= kOperations; ++n) unknown(n);
  std::vector<std::vector<std::string>> taken(kThreads);
  std::barrier start(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        const auto mine = static_cast<std::size_t>(t);
        start.arrive_and_wait();
        while (true) {
          const auto some = door(mine).take_due(at(60s), 1000s, 7);
          if (!some || some->empty()) break;
          for (const auto& operation : *some) taken[mine].push_back(operation.operation_key);
        }
      });
    }
  }
  std::multiset<std::string> all;
  for (const auto& keys : taken) all.insert(keys.begin(), keys.end());
  EXPECT_EQ(all.size(), std::size_t{kOperations});
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), std::size_t{kOperations});
}

// --- every door

TEST_P(JournalTest, WhatOneDoorWroteEveryOtherReads) {
  door(0).register_and_claim(sample(1), "w1", at(30s)).value();
  EXPECT_EQ(door(1).load(key(1)).value().attempt_count, 1);
  door(1).mark_unknown(key(1), 1, "timeout", at(10s), at(5s), "w1").value();
  EXPECT_EQ(door(2).load(key(1)).value().status, Status::unknown);
  EXPECT_EQ(door(0).events(key(1)).value().size(), 3u);
}

TEST_P(JournalTest, EachStatusIsThatOfItsLastEventAndEventsAreInOrder) {
  registered(1), claimed(2), unknown(3), in_review(4), succeeded(5), failed(6);
  for (int n = 1; n <= 6; ++n) {
    const auto written = events(n);
    EXPECT_EQ(written.back().to_status, load(n).status);
    for (std::size_t i = 0; i < written.size(); ++i) {
      EXPECT_EQ(written[i].seq, static_cast<std::int64_t>(i) + 1);
      if (i == 0) continue;
      EXPECT_EQ(written[i].from_status, written[i - 1].to_status);
    }
  }
}

}  // namespace
}  // namespace onceproof
