// The decision table, row by row, and each limit just before, at, and just after it.
#include "reference/protocol.h"

#include <gtest/gtest.h>

namespace onceproof {
namespace {

using std::chrono::milliseconds;

constexpr CivilTime kStart{milliseconds{1'767'225'600'000}};
constexpr CivilTime at(int ms) {
  return kStart + milliseconds{ms};
}

ToolPolicy policy() {
  ToolPolicy tool;
  tool.call_timeout = milliseconds{250};
  tool.lease = milliseconds{600};
  tool.unknown_after = milliseconds{2'000};
  tool.check_initial = milliseconds{20};
  tool.check_max = milliseconds{200};
  tool.max_attempts = 3;
  return tool;
}

Guarantees blind() {
  Guarantees none;
  none.max_in_flight = milliseconds{100};
  return none;
}
Guarantees searchable() {
  Guarantees promised = blind();
  promised.lookup = LookupGuarantee{LookupBy::reference, true, milliseconds{50}};
  return promised;
}
Guarantees unreliable() {
  Guarantees promised = searchable();
  promised.lookup->complete = false;
  return promised;
}
Guarantees keyed() {
  Guarantees promised = blind();
  promised.key_dedup = KeyDedup{"Idempotency-Key", milliseconds{5'000}};
  return promised;
}
Guarantees keyed_searchable() {
  Guarantees promised = keyed();
  promised.lookup = searchable().lookup;
  return promised;
}

// An operation after its first attempt, which was claimed at 0.
Operation tried(Status status) {
  Operation operation;
  operation.operation_key = "op_1";
  operation.status = status;
  operation.attempt_count = 1;
  operation.first_attempt_at = at(0);
  operation.last_attempt_at = at(0);
  if (status == Status::in_progress) operation.lease_until = at(600);
  if (status == Status::unknown) {
    operation.unknown_since = at(250);
    operation.next_check_at = at(270);
  }
  return operation;
}
Operation fresh() {
  Operation operation;
  operation.operation_key = "op_1";
  return operation;
}
Operation in_review() {
  Operation operation = tried(Status::unknown);
  operation.review_since = at(300);
  return operation;
}
Operation released(std::optional<CivilTime> not_before) {
  Operation operation = tried(Status::pending);
  operation.next_check_at = not_before;
  return operation;
}

struct FoundRow {
  const char* claim;
  Operation operation;
  bool same_hash;
  int now_ms;
  Do expected;
};

TEST(ProtocolTest, OnSubmitFollowsTheTable) {
  const FoundRow rows[] = {
      {"hash differs, pending", fresh(), false, 0, Do::answer_conflict},
      {"hash differs, in progress", tried(Status::in_progress), false, 0, Do::answer_conflict},
      {"hash differs, unknown", tried(Status::unknown), false, 9'999, Do::answer_conflict},
      {"hash differs, succeeded", tried(Status::succeeded), false, 0, Do::answer_conflict},
      {"hash differs, failed", tried(Status::failed_final), false, 0, Do::answer_conflict},
      {"hash differs, in review", in_review(), false, 0, Do::answer_conflict},
      {"succeeded", tried(Status::succeeded), true, 9'999, Do::answer_stored},
      {"failed_final", tried(Status::failed_final), true, 9'999, Do::answer_stored},
      {"in review, check due", in_review(), true, 9'999, Do::answer_review},
      {"lease alive", tried(Status::in_progress), true, 599, Do::answer_in_progress},
      {"lease at its end", tried(Status::in_progress), true, 600, Do::answer_in_progress},
      {"lease dead", tried(Status::in_progress), true, 601, Do::verify},
      {"never attempted", fresh(), true, 0, Do::claim_and_call},
      {"released", released({}), true, 0, Do::claim_and_call},
      {"released, not before ahead", released(at(10)), true, 9, Do::answer_pending},
      {"released, not before reached", released(at(10)), true, 10, Do::claim_and_call},
      {"unknown, check not due", tried(Status::unknown), true, 269, Do::answer_unknown},
      {"unknown, check due", tried(Status::unknown), true, 270, Do::verify},
      {"unknown past unknown_after", tried(Status::unknown), true, 9'999, Do::verify},
  };
  const Protocol protocol;
  for (const auto& promised : {blind(), searchable(), keyed(), keyed_searchable()}) {
    for (const auto& row : rows) {
      const auto decision =
          protocol.on_submit({row.operation, row.same_hash}, policy(), promised, at(row.now_ms));
      EXPECT_EQ(decision.what, row.expected) << row.claim;
      EXPECT_FALSE(decision.why.empty()) << row.claim;
    }
  }
}

TEST(ProtocolTest, AnInProgressRecordWithoutALeaseIsTakenForDead) {
  Operation operation = tried(Status::in_progress);
  operation.lease_until.reset();
  EXPECT_EQ(Protocol().on_submit({operation, true}, policy(), blind(), at(1)).what, Do::verify);
}

TEST(ProtocolTest, OnDueVerifiesAndNeverCallsWhatMayExist) {
  const FoundRow rows[] = {
      {"unknown, also while held", tried(Status::unknown), true, 0, Do::verify},
      {"lease dead", tried(Status::in_progress), true, 601, Do::verify},
      {"lease alive", tried(Status::in_progress), true, 600, Do::answer_in_progress},
      {"succeeded", tried(Status::succeeded), true, 0, Do::answer_stored},
      {"failed_final", tried(Status::failed_final), true, 0, Do::answer_stored},
      {"in review", in_review(), true, 9'999, Do::answer_review},
      {"released", released({}), true, 0, Do::claim_and_call},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(Protocol().on_due(row.operation, policy(), blind(), at(row.now_ms)).what,
              row.expected)
        << row.claim;
  }
}

TEST(ProtocolTest, MaySendWhileTheWholeCallFitsIntoTheLease) {
  const Operation claimed = tried(Status::in_progress);  // until 600, a call takes 250
  EXPECT_TRUE(Protocol().may_send(claimed, policy(), at(0)));
  EXPECT_TRUE(Protocol().may_send(claimed, policy(), at(349)));
  EXPECT_FALSE(Protocol().may_send(claimed, policy(), at(350)));
  EXPECT_FALSE(Protocol().may_send(claimed, policy(), at(10'000)));
  Operation without = claimed;
  without.lease_until.reset();
  EXPECT_FALSE(Protocol().may_send(without, policy(), at(0)));
}

TEST(ProtocolTest, MayResendOnlyWhileTheKeyIsRemembered) {
  Operation claimed = tried(Status::in_progress);
  claimed.attempt_count = 2;
  claimed.last_attempt_at = at(4'700);
  claimed.lease_until = at(5'300);
  EXPECT_TRUE(Protocol().may_resend(claimed, policy(), keyed(), at(4'649)));
  EXPECT_FALSE(Protocol().may_resend(claimed, policy(), keyed(), at(4'650)));
  EXPECT_FALSE(Protocol().may_resend(claimed, policy(), searchable(), at(4'649)));
  claimed.lease_until = at(4'800);
  EXPECT_FALSE(Protocol().may_resend(claimed, policy(), keyed(), at(4'649)));
}

// A resend that times out may arrive max_in_flight later: it must be remembered even then.
TEST(ProtocolTest, KeyDedupIsLiveStrictlyBeforeItsWindowEnds) {
  // first attempt at 0, window 5000, call 250, in flight 100
  const Operation operation = tried(Status::unknown);
  EXPECT_TRUE(Protocol::key_dedup_is_live(operation, policy(), keyed(), at(4'649)));
  // now + call_timeout + max_in_flight == first_attempt_at + window
  EXPECT_FALSE(Protocol::key_dedup_is_live(operation, policy(), keyed(), at(4'650)));
  EXPECT_FALSE(Protocol::key_dedup_is_live(operation, policy(), keyed(), at(4'651)));
  EXPECT_FALSE(Protocol::key_dedup_is_live(operation, policy(), searchable(), at(0)));
  EXPECT_TRUE(Protocol::key_dedup_is_live(fresh(), policy(), keyed(), at(0)));
}

TEST(ProtocolTest, TheWindowCountsFromTheFirstAttempt) {
  Operation operation = tried(Status::unknown);
  operation.attempt_count = 2;
  operation.last_attempt_at = at(4'000);
  EXPECT_FALSE(Protocol::key_dedup_is_live(operation, policy(), keyed(), at(4'750)));
}

TEST(ProtocolTest, AbsenceIsProvableAfterTheLastInstantOfEveryCall) {
  // claimed at 0 + lease 600 + max_in_flight 100 + index_delay 50
  EXPECT_EQ(Protocol::provable_absence_at(tried(Status::unknown), policy(), searchable()), at(750));
  EXPECT_EQ(Protocol::provable_absence_at(tried(Status::in_progress), policy(), searchable()),
            at(750));
  EXPECT_EQ(Protocol::provable_absence_at(tried(Status::unknown), policy(), unreliable()),
            std::nullopt);
  EXPECT_EQ(Protocol::provable_absence_at(tried(Status::unknown), policy(), keyed()), std::nullopt);
  EXPECT_EQ(Protocol::provable_absence_at(tried(Status::unknown), policy(), blind()), std::nullopt);
  EXPECT_EQ(Protocol::provable_absence_at(fresh(), policy(), searchable()), std::nullopt);
}

TEST(ProtocolTest, ALongerLeaseGivenBeforeThePolicyChangedStillCounts) {
  for (const auto status : {Status::in_progress, Status::unknown}) {
    Operation operation = tried(status);
    operation.attempt_until = at(3'000);
    EXPECT_EQ(Protocol::provable_absence_at(operation, policy(), searchable()), at(3'150));
  }
}

// The latest call that may_send allows ends before the lease does: what it may leave in flight is
// visible when absence counts.
TEST(ProtocolTest, NoCallThatMaySendAllowsCanTakeEffectAfterAbsenceCounts) {
  const Operation claimed = tried(Status::in_progress);
  const auto rules = policy();
  const auto promised = searchable();
  int latest = 0;
  while (Protocol().may_send(claimed, rules, at(latest + 1))) ++latest;
  const CivilTime visible =
      at(latest) + rules.call_timeout + promised.max_in_flight + promised.lookup->index_delay;
  EXPECT_LT(visible, *Protocol::provable_absence_at(claimed, rules, promised));
}

struct OutcomeRow {
  const char* claim;
  Status prior;
  CallOutcome outcome;
  std::int64_t attempt;
  Do expected;
};

CallOutcome outcome(OutcomeKind kind, std::string id = "") {
  CallOutcome made;
  made.kind = kind;
  made.external_id = std::move(id);
  return made;
}

TEST(ProtocolTest, OnOutcomeFollowsTheTable) {
  const CallOutcome confirmed = outcome(OutcomeKind::confirmed, "pay_1");
  const CallOutcome nameless = outcome(OutcomeKind::confirmed);
  const CallOutcome rejected = outcome(OutcomeKind::rejected);
  const CallOutcome not_started = outcome(OutcomeKind::not_started);
  const CallOutcome ambiguous = outcome(OutcomeKind::ambiguous);
  const OutcomeRow rows[] = {
      {"confirmed", Status::pending, confirmed, 1, Do::record_succeeded},
      {"confirmed resend", Status::unknown, confirmed, 2, Do::record_succeeded},
      {"confirmed without a name", Status::pending, nameless, 1, Do::record_unknown},
      {"rejected", Status::pending, rejected, 1, Do::record_failed_final},
      {"rejected after a release", Status::pending, rejected, 2, Do::record_failed_final},
      {"rejected resend of an unknown", Status::unknown, rejected, 2, Do::record_unknown},
      {"rejected resend after a dead lease", Status::in_progress, rejected, 2, Do::record_unknown},
      {"not started", Status::pending, not_started, 1, Do::release},
      {"not started, last attempt", Status::pending, not_started, 3, Do::escalate},
      {"not started resend", Status::unknown, not_started, 2, Do::record_unknown},
      {"not started resend after a dead lease", Status::in_progress, not_started, 2,
       Do::record_unknown},
      {"ambiguous", Status::pending, ambiguous, 1, Do::record_unknown},
      {"ambiguous, last attempt", Status::pending, ambiguous, 3, Do::record_unknown},
      {"ambiguous resend", Status::unknown, ambiguous, 2, Do::record_unknown},
  };
  for (const auto& promised : {blind(), searchable(), keyed(), keyed_searchable()}) {
    for (const auto& row : rows) {
      Operation operation = tried(Status::in_progress);
      operation.attempt_count = row.attempt;
      SeededRandom random(1);
      const auto decision = Protocol().on_outcome(operation, row.prior, row.outcome, policy(),
                                                  promised, at(250), random);
      EXPECT_EQ(decision.what, row.expected) << row.claim;
      if (row.expected == Do::record_unknown || row.expected == Do::release) {
        ASSERT_TRUE(decision.at.has_value()) << row.claim;
        EXPECT_GT(*decision.at, at(250)) << row.claim;
      }
    }
  }
}

TEST(ProtocolTest, AResendThatStaysAmbiguousPastUnknownAfterGoesToReview) {
  Operation operation = tried(Status::in_progress);
  operation.attempt_count = 2;
  operation.unknown_since = at(250);
  SeededRandom random(1);
  const auto ambiguous = outcome(OutcomeKind::ambiguous);
  const Protocol protocol;
  EXPECT_EQ(
      protocol
          .on_outcome(operation, Status::unknown, ambiguous, policy(), keyed(), at(2'250), random)
          .what,
      Do::record_unknown);
  EXPECT_EQ(
      protocol
          .on_outcome(operation, Status::unknown, ambiguous, policy(), keyed(), at(2'251), random)
          .what,
      Do::escalate);
}

TEST(ProtocolTest, RetryAfterIsKeptUpToUnknownAfter) {
  SeededRandom random(1);
  CallOutcome later = outcome(OutcomeKind::not_started);
  const Operation operation = tried(Status::in_progress);
  later.retry_after = milliseconds{700};
  EXPECT_EQ(
      Protocol().on_outcome(operation, Status::pending, later, policy(), blind(), at(0), random).at,
      at(700));
  later.retry_after = milliseconds{0};  // shorter than the backoff
  EXPECT_GT(
      Protocol().on_outcome(operation, Status::pending, later, policy(), blind(), at(0), random).at,
      at(0));
  later.retry_after = milliseconds{86'400'000};
  EXPECT_EQ(
      Protocol().on_outcome(operation, Status::pending, later, policy(), blind(), at(0), random).at,
      at(2'000));
  later.kind = OutcomeKind::ambiguous;  // a lookup too leaves the provider alone
  later.retry_after = milliseconds{700};
  EXPECT_EQ(
      Protocol()
          .on_outcome(operation, Status::pending, later, policy(), searchable(), at(0), random)
          .at,
      at(700));
}

struct LookupRow {
  const char* claim;
  Guarantees promised;
  LookupKind kind;
  int asked_ms;
  std::int64_t attempt;
  Do expected;
};

TEST(ProtocolTest, OnLookupFollowsTheTable) {
  using K = LookupKind;
  const LookupRow rows[] = {
      {"found", searchable(), K::found, 300, 1, Do::record_succeeded},
      {"found at an incomplete lookup", unreliable(), K::found, 300, 1, Do::record_succeeded},
      {"found at a provider with keys", keyed_searchable(), K::found, 300, 1, Do::record_succeeded},
      {"two effects", keyed_searchable(), K::found_several, 300, 1, Do::escalate},
      {"found after the last attempt", searchable(), K::found, 300, 3, Do::record_succeeded},
      {"not finished", searchable(), K::found_incomplete, 9'000, 1, Do::escalate},
      {"not finished, early", searchable(), K::found_incomplete, 900, 1, Do::record_unknown},
      {"not finished, live key", keyed_searchable(), K::found_incomplete, 900, 1,
       Do::record_unknown},
      {"not found, before absence counts", searchable(), K::not_found, 749, 1, Do::record_unknown},
      {"not found, exactly when it does", searchable(), K::not_found, 750, 1, Do::record_unknown},
      {"not found, just after", searchable(), K::not_found, 751, 1, Do::release},
      {"absent, but no call is left", searchable(), K::not_found, 751, 3, Do::escalate},
      {"not found at an incomplete lookup", unreliable(), K::not_found, 1'900, 1,
       Do::record_unknown},
      {"not found, early, live key", keyed_searchable(), K::not_found, 300, 1, Do::claim_and_call},
      {"not found, absent, live key", keyed_searchable(), K::not_found, 751, 1, Do::release},
      {"not found, early, live key, no call left", keyed_searchable(), K::not_found, 300, 3,
       Do::record_unknown},
      {"failed, no key", searchable(), K::failed, 1'900, 1, Do::record_unknown},
      {"failed, live key", keyed_searchable(), K::failed, 1'900, 1, Do::claim_and_call},
      {"failed, live key, no call left", keyed_searchable(), K::failed, 1'900, 3,
       Do::record_unknown},
      {"unsupported, live key", keyed(), K::unsupported, 300, 1, Do::claim_and_call},
      {"unsupported, live key, past unknown_after", keyed(), K::unsupported, 4'649, 1,
       Do::claim_and_call},
      {"unsupported, dead key", keyed(), K::unsupported, 4'650, 1, Do::escalate},
      {"unsupported, blind", blind(), K::unsupported, 300, 1, Do::record_unknown},
      {"blind, exactly at unknown_after", blind(), K::unsupported, 2'250, 1, Do::record_unknown},
      {"blind, past unknown_after", blind(), K::unsupported, 2'251, 1, Do::escalate},
      {"lookup fails past unknown_after", searchable(), K::failed, 2'251, 1, Do::escalate},
      {"absence is proved past unknown_after", searchable(), K::not_found, 9'000, 1, Do::release},
      {"found past unknown_after", searchable(), K::found, 9'000, 1, Do::record_succeeded},
  };
  for (const auto& row : rows) {
    for (const Status status : {Status::unknown, Status::in_progress}) {
      Operation operation = tried(status);
      operation.unknown_since = at(250);
      operation.attempt_count = row.attempt;
      LookupResult lookup;
      lookup.kind = row.kind;
      if (row.kind == K::found) lookup.external_id = "pay_1";
      SeededRandom random(1);
      const auto decision = Protocol().on_lookup(operation, lookup, at(row.asked_ms), policy(),
                                                 row.promised, at(row.asked_ms), random);
      EXPECT_EQ(decision.what, row.expected) << row.claim << ", " << to_text(status);
    }
  }
}

TEST(ProtocolTest, AbsenceIsJudgedByWhenTheLookupBeganNotWhenItEnded) {
  LookupResult lookup;
  lookup.kind = LookupKind::not_found;
  SeededRandom random(1);
  const auto decision = Protocol().on_lookup(tried(Status::unknown), lookup, at(750), policy(),
                                             searchable(), at(900), random);
  EXPECT_EQ(decision.what, Do::record_unknown);
}

TEST(ProtocolTest, AFindWithoutANameIsNoSuccess) {
  LookupResult lookup;
  lookup.kind = LookupKind::found;
  SeededRandom random(1);
  EXPECT_EQ(Protocol()
                .on_lookup(tried(Status::unknown), lookup, at(900), policy(), searchable(), at(900),
                           random)
                .what,
            Do::record_unknown);
}

TEST(ProtocolTest, ADeadLeaseIsUnknownOnlySinceItWasFoundOut) {
  LookupResult lookup;
  lookup.kind = LookupKind::unsupported;
  SeededRandom random(1);  // hours later: a person is not called before the first look
  EXPECT_EQ(Protocol()
                .on_lookup(tried(Status::in_progress), lookup, at(9'000'000), policy(), blind(),
                           at(9'000'000), random)
                .what,
            Do::record_unknown);
}

TEST(ProtocolTest, ChecksComeAtARandomTimeWithinABackoffThatDoublesUpToItsCap) {
  SeededRandom random(7);
  Operation operation = tried(Status::unknown);
  const int longest[] = {20, 40, 80, 160, 200, 200, 200};
  for (int checks = 0; checks < 7; ++checks) {
    operation.check_count = checks;
    CivilTime first = at(1'000'000);
    CivilTime last = at(0);
    for (int i = 0; i < 1'000; ++i) {
      const auto next = *Protocol().on_unresolved(operation, policy(), blind(), at(250), random).at;
      first = std::min(first, next);
      last = std::max(last, next);
    }
    EXPECT_GT(first, at(250)) << checks;
    EXPECT_LE(first, at(250 + longest[checks] / 10)) << checks;
    EXPECT_LE(last, at(250 + longest[checks])) << checks;
    EXPECT_GE(last, at(250 + longest[checks] * 9 / 10)) << checks;
  }
}

TEST(ProtocolTest, ResendsCountAsRoundsOfTheBackoff) {
  Operation operation = tried(Status::in_progress);
  operation.attempt_count = 3;
  SeededRandom random(7);
  CivilTime latest = at(0);
  for (int i = 0; i < 200; ++i) {
    const auto next = *Protocol().on_unresolved(operation, policy(), keyed(), at(0), random).at;
    EXPECT_LE(next, at(80));
    latest = std::max(latest, next);
  }
  EXPECT_GT(latest, at(40));
}

TEST(ProtocolTest, TheNextCheckIsNotLaterThanTheInstantAtWhichAbsenceCanBeProved) {
  Operation operation = tried(Status::unknown);
  operation.check_count = 20;
  SeededRandom random(7);
  bool used = false;
  for (int i = 0; i < 200; ++i) {
    const auto next =
        *Protocol().on_unresolved(operation, policy(), searchable(), at(700), random).at;
    EXPECT_LE(next, at(751));
    used = used || next == at(751);
  }
  EXPECT_TRUE(used);
}

TEST(ProtocolTest, TheNextCheckIsNotLaterThanTheReview) {
  Operation operation = tried(Status::unknown);
  operation.check_count = 20;
  SeededRandom random(7);
  for (int i = 0; i < 200; ++i) {
    EXPECT_LE(*Protocol().on_unresolved(operation, policy(), blind(), at(2'240), random).at,
              at(2'251));
  }
}

TEST(ProtocolTest, AnEnormousCheckCountStaysAtCheckMax) {
  Operation operation = tried(Status::unknown);
  operation.check_count = 1'000'000'000;
  operation.attempt_count = 1'000'000'000;
  SeededRandom random(7);
  EXPECT_LE(*Protocol().on_unresolved(operation, policy(), blind(), at(250), random).at, at(450));
}

// Whatever is found and learned: a call is decided only where no effect can exist, or where a live
// key makes it harmless.
TEST(ProtocolTest, NoBlindRepeatInAnyCombination) {
  const Protocol protocol;
  SeededRandom random(3);
  int calls = 0;
  for (const auto& promised : {blind(), unreliable(), searchable(), keyed(), keyed_searchable()}) {
    for (const Status status : {Status::unknown, Status::in_progress}) {
      for (int now = 0; now < 6'000; now += 50) {
        const Operation operation = tried(status);
        EXPECT_NE(protocol.on_submit({operation, true}, policy(), promised, at(now)).what,
                  Do::claim_and_call);
        EXPECT_NE(protocol.on_due(operation, policy(), promised, at(now)).what, Do::claim_and_call);
        for (int kind = 0; kind <= static_cast<int>(LookupKind::unsupported); ++kind) {
          LookupResult lookup;
          lookup.kind = static_cast<LookupKind>(kind);
          const auto what =
              protocol.on_lookup(operation, lookup, at(now), policy(), promised, at(now), random)
                  .what;
          if (what == Do::claim_and_call) {
            ++calls;
            EXPECT_TRUE(Protocol::key_dedup_is_live(operation, policy(), promised, at(now)));
          }
          if (what == Do::release) {
            EXPECT_TRUE(promised.lookup && promised.lookup->complete && now > 750);
          }
        }
      }
    }
  }
  EXPECT_GT(calls, 0);
}

}  // namespace
}  // namespace onceproof
