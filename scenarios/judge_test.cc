// Histories made by hand: each invariant is broken once and kept once.
#include "scenarios/judge.h"

#include <gtest/gtest.h>

#include <set>

#include "scenarios/playable.h"

namespace onceproof::scenarios {
namespace {

using fakes::Disposition;

MonotonicTime at(int ms) {
  return MonotonicTime{Milliseconds{ms}};
}

// Tells a story: what is said and done, in order.
class Story {
 public:
  explicit Story(const std::string& profile = "searchable") {
    history.provider = fakes::find_profile(profile).value();
    history.profile = profile;
    history.service = "payments";
    history.times = make_times(history.provider, 1.0);
    history.scenario.name = "story";
    intent("A", "817");
  }
  Story& intent(const std::string& name, const std::string& order) {
    history.intents[name] = {name,
                             "t1",
                             "story/" + name,
                             "create_payment",
                             Json{{"order_id", order}, {"amount_minor", 100}, {"currency", "RUB"}},
                             order};
    return *this;
  }
  // An unchanged submit from `from` to `to` that was answered `status`.
  Story& submit(int from, int to, const std::string& status, const std::string& id = "",
                const std::string& name = "A", const std::string& worker = "w1") {
    Exchange exchange;
    exchange.worker = worker;
    exchange.intent = name;
    exchange.params = history.intents.at(name).params;
    exchange.sent_at = at(from);
    exchange.answered_at = at(to);
    exchange.answer = Answer{status, id, nullptr, "", nullptr};
    history.exchanges.push_back(exchange);
    return *this;
  }
  Story& changed(int from, int to, const std::string& status) {
    submit(from, to, status);
    history.exchanges.back().changed = true;
    history.exchanges.back().params["amount_minor"] = 200;
    return *this;
  }
  // A call that arrived at `when`; `heard`: its reply reached the client, 5 ms later.
  Story& call(int when, Disposition what, bool heard, const std::string& key = "op_1",
              const std::string& order = "817", int amount = 100) {
    fakes::WireEntry entry;
    entry.number = history.wire.size() + 1;
    entry.worker = "w1";
    entry.service = "payments";
    entry.route = "create";
    entry.method = "POST";
    entry.target = "/w1/payments";
    entry.business_ref = order;
    entry.key = entry.reference = key;
    entry.params = Json{
        {"order_id", order}, {"amount_minor", amount}, {"currency", "RUB"}, {"reference", key}};
    entry.received_at = at(when);
    entry.disposition = what;
    entry.delivered = heard;
    if (heard) {
      entry.responded_at = at(when + 5);
      entry.status = what == Disposition::rejected ? 402 : 201;
    }
    if (what == Disposition::created) {
      fakes::Effect effect;
      effect.id = "pay_" + std::to_string(history.effects.size() + 1);
      effect.service = "payments";
      effect.business_ref = order;
      effect.key = effect.reference = key;
      effect.params = entry.params;
      effect.request = entry.number;
      effect.committed_at = at(when + 1);
      entry.effect_ids = {effect.id};
      entry.committed_at = effect.committed_at;
      history.effects.push_back(effect);
    }
    history.wire.push_back(entry);
    return *this;
  }
  Story& lookup(int when, bool found) {
    fakes::WireEntry entry;
    entry.number = history.wire.size() + 1;
    entry.route = "lookup";
    entry.business_ref = "817";
    entry.received_at = at(when);
    entry.responded_at = at(when + 2);
    entry.status = 200;
    entry.delivered = true;
    entry.disposition = found ? Disposition::found : Disposition::not_found;
    history.wire.push_back(entry);
    return *this;
  }

  std::set<std::string> broken() const {
    std::set<std::string> ids;
    for (const auto& violation : judge(history).violations) ids.insert(violation.invariant);
    return ids;
  }
  History history;
};

using Ids = std::set<std::string>;

TEST(JudgeTest, AnHonestStoryPasses) {
  Story story;
  story.submit(0, 300, "verification_required").call(10, Disposition::created, false);
  story.lookup(320, true)
      .submit(310, 330, "succeeded", "pay_1")
      .submit(400, 401, "succeeded", "pay_1");
  story.changed(410, 411, "conflict");
  const auto verdict = judge(story.history);
  EXPECT_EQ(verdict.kind, VerdictKind::pass) << verdict.violations.at(0).observed;
}

TEST(JudgeTest, OneEffect) {
  Story story("keyed");
  story.submit(0, 300, "verification_required").call(10, Disposition::created, false);
  story.submit(310, 330, "succeeded", "pay_2").call(315, Disposition::created, true, "op_2");
  EXPECT_TRUE(story.broken().contains("one-effect"));
  EXPECT_TRUE(story.broken().contains("stable-key"));
  const auto verdict = judge(story.history);
  EXPECT_EQ(verdict.kind, VerdictKind::violated);
  EXPECT_EQ(verdict.violations[0].requests, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_FALSE(verdict.violations[0].remedy.empty());
}

TEST(JudgeTest, EffectMatches) {
  Story story;
  story.submit(0, 30, "succeeded", "pay_1")
      .call(10, Disposition::created, true, "op_1", "817", 999);
  EXPECT_EQ(story.broken(), Ids{"effect-matches"});
}

TEST(JudgeTest, NormalisedParametersMatch) {
  EXPECT_TRUE(carries(Json{{"currency", "RUB"}, {"n", 1.0}, {"x", "y"}},
                      Json{{"currency", " rub"}, {"n", 1}, {"absent", nullptr}}));
  EXPECT_FALSE(carries(Json{{"name", "a"}}, Json{{"name", "A"}}));
  EXPECT_FALSE(carries(Json{{"n", 1}}, Json{{"n", "1"}}));
}

TEST(JudgeTest, SuccessIsReal) {
  Story nothing;
  nothing.submit(0, 30, "succeeded", "pay_1").call(10, Disposition::rejected, true);
  EXPECT_TRUE(nothing.broken().contains("success-is-real"));
  Story other;
  other.submit(0, 30, "succeeded", "pay_7").call(10, Disposition::created, true);
  EXPECT_TRUE(other.broken().contains("success-is-real"));
  Story nameless;
  nameless.submit(0, 30, "succeeded").call(10, Disposition::created, true);
  EXPECT_TRUE(nameless.broken().contains("success-is-real"));
  Story early;
  early.submit(0, 5, "succeeded", "pay_1").call(10, Disposition::created, true);
  EXPECT_TRUE(early.broken().contains("success-is-real"));
}

TEST(JudgeTest, FailureIsRealAndUnknownIsHonest) {
  Story lie;
  lie.submit(0, 300, "failed_final").call(10, Disposition::created, false);
  EXPECT_EQ(lie.broken(), (Ids{"failure-is-real", "honest-unknown"}));
  Story guess;  // luckily true, and still a guess
  guess.submit(0, 300, "failed_final").call(10, Disposition::pending, false);
  EXPECT_EQ(guess.broken(), Ids{"honest-unknown"});
  Story lucky;
  lucky.submit(0, 300, "succeeded", "pay_1").call(10, Disposition::created, false);
  EXPECT_EQ(lucky.broken(), Ids{"honest-unknown"});
  Story proven;
  proven.submit(0, 30, "failed_final").call(10, Disposition::rejected, true);
  EXPECT_EQ(proven.broken(), Ids{});
  Story uncalled;  // refused before any call
  uncalled.submit(0, 30, "failed_final");
  EXPECT_EQ(uncalled.broken(), Ids{});
  Story looked;
  looked.submit(0, 300, "verification_required").call(10, Disposition::pending, false);
  looked.lookup(400, false).submit(399, 410, "failed_final");
  EXPECT_EQ(looked.broken(), Ids{});
}

TEST(JudgeTest, ConflictBeforeCall) {
  Story story;
  story.submit(0, 30, "succeeded", "pay_1").call(10, Disposition::created, true);
  story.changed(40, 41, "succeeded");
  EXPECT_EQ(story.broken(), Ids{"conflict-before-call"});
  Story called;
  called.submit(0, 30, "succeeded", "pay_1").call(10, Disposition::created, true);
  called.changed(40, 60, "conflict").call(45, Disposition::mismatch, true, "op_1", "817", 200);
  EXPECT_TRUE(called.broken().contains("conflict-before-call"));
  Story crashed;
  crashed.submit(0, 30, "succeeded", "pay_1").call(10, Disposition::created, true);
  crashed.changed(40, 41, "conflict");
  crashed.history.exchanges.back().answer.reset();
  EXPECT_EQ(crashed.broken(), Ids{});
}

TEST(JudgeTest, StableKeyAcrossIntents) {
  Story story("keyed");
  story.intent("B", "818");
  story.submit(0, 30, "succeeded", "pay_1").call(10, Disposition::created, true, "op_1");
  story.submit(40, 60, "succeeded", "pay_2", "B")
      .call(45, Disposition::created, true, "op_1", "818");
  EXPECT_EQ(story.broken(), Ids{"stable-key"});
}

TEST(JudgeTest, ReplayReturnsResult) {
  Story called;
  called.submit(0, 30, "succeeded", "pay_1").call(10, Disposition::created, true);
  called.submit(40, 60, "succeeded", "pay_1").call(45, Disposition::replayed, true);
  EXPECT_EQ(called.broken(), Ids{"replay-returns-result"});
  Story forgot;
  forgot.submit(0, 30, "succeeded", "pay_1").call(10, Disposition::created, true);
  forgot.submit(40, 60, "in_progress").submit(70, 71, "succeeded", "pay_1");
  EXPECT_EQ(forgot.broken(), Ids{"replay-returns-result"});
  Story result;
  result.submit(0, 30, "succeeded", "pay_1").call(10, Disposition::created, true);
  result.submit(40, 60, "succeeded", "pay_1");
  result.history.exchanges[0].answer->result = Json{{"status", "a"}};
  result.history.exchanges[1].answer->result = Json{{"status", "b"}};
  EXPECT_EQ(result.broken(), Ids{"replay-returns-result"});
}

TEST(JudgeTest, NoBlindRepeat) {
  Story blind("blind");
  blind.submit(0, 300, "verification_required").call(10, Disposition::pending, false);
  blind.submit(310, 330, "succeeded", "pay_1").call(315, Disposition::created, true);
  EXPECT_EQ(blind.broken(), Ids{"no-blind-repeat"});
  Story looked("searchable");
  looked.submit(0, 300, "verification_required").call(10, Disposition::pending, false);
  looked.lookup(312, false)
      .submit(310, 330, "succeeded", "pay_1")
      .call(315, Disposition::created, true);
  EXPECT_EQ(looked.broken(), Ids{});
  Story too_early("delayed-index");
  too_early.submit(0, 30, "verification_required").call(10, Disposition::pending, false);
  too_early.lookup(40, false)
      .submit(35, 60, "succeeded", "pay_1")
      .call(45, Disposition::created, true);
  EXPECT_EQ(too_early.broken(), Ids{"no-blind-repeat"});
  Story keyed("keyed");
  keyed.submit(0, 300, "verification_required").call(10, Disposition::created, false);
  keyed.submit(310, 330, "succeeded", "pay_1").call(315, Disposition::replayed, true);
  EXPECT_EQ(keyed.broken(), Ids{});
}

TEST(JudgeTest, SingleFlight) {
  Story story("keyed");
  story.submit(0, 100, "succeeded", "pay_1").call(10, Disposition::created, true);
  story.history.wire[0].responded_at = at(90);
  story.submit(0, 100, "succeeded", "pay_1", "A", "w2").call(20, Disposition::in_flight, true);
  EXPECT_TRUE(story.broken().contains("single-flight"));
}

TEST(JudgeTest, NothingLost) {
  Story story;
  story.submit(0, 300, "verification_required").call(10, Disposition::created, false);
  EXPECT_EQ(story.broken(), Ids{"nothing-lost"});
  story.history.sut_failure = "it hung";
  EXPECT_EQ(judge(story.history).kind, VerdictKind::inconclusive);
}

TEST(JudgeTest, DistinctIntents) {
  Story story("keyed");
  story.intent("B", "817");
  story.submit(0, 30, "succeeded", "pay_1").call(10, Disposition::created, true);
  story.submit(40, 60, "succeeded", "pay_1", "B").call(45, Disposition::replayed, true);
  EXPECT_TRUE(story.broken().contains("distinct-intents"));
  Story both("keyed");
  both.intent("B", "817");
  both.submit(0, 30, "succeeded", "pay_1").call(10, Disposition::created, true, "op_1");
  both.submit(40, 60, "succeeded", "pay_2", "B").call(45, Disposition::created, true, "op_2");
  EXPECT_EQ(both.broken(), Ids{});
}

TEST(JudgeTest, BoundedCalls) {
  Story story("keyed");
  story.submit(0, 3'000, "succeeded", "pay_1");
  for (int i = 0; i < 30; ++i)
    story.call(10 * i, i == 0 ? Disposition::created : Disposition::replayed, true);
  EXPECT_EQ(story.broken(), Ids{"bounded-calls"});
}

TEST(JudgeTest, AFaultThatNeverFiredIsInconclusiveUnlessItIsOptional) {
  Story story;
  story.submit(0, 30, "succeeded", "pay_1").call(10, Disposition::created, true);
  story.history.faults.emplace_back();
  story.history.faults[0].fault.name = "fault-1";
  const auto verdict = judge(story.history);
  EXPECT_EQ(verdict.kind, VerdictKind::inconclusive);
  EXPECT_NE(verdict.reason.find("fault-1 was armed but never fired"), std::string::npos);
  story.history.faults[0].fault.optional = true;
  EXPECT_EQ(judge(story.history).kind, VerdictKind::pass);
  story.history.faults[0].fault.optional = false;
  story.submit(40, 60, "in_progress");
  EXPECT_EQ(judge(story.history).kind, VerdictKind::violated) << "a fact outranks a doubt";
}

TEST(JudgeTest, ExpectationsOfStepsAndOfTheEnd) {
  Story story;
  SubmitStep step;
  step.intent = "A";
  step.expect.status = {"verification_required"};
  step.expect.calls = 0;
  story.history.scenario.steps.emplace_back(step);
  story.history.scenario.expect.effects["A"] = 2;
  story.history.scenario.expect.final["A"] = {"review"};
  story.submit(0, 30, "succeeded", "pay_1").call(10, Disposition::created, true);
  EXPECT_EQ(story.broken(), Ids{"expectation"});
  EXPECT_EQ(judge(story.history).violations.size(), 4U);
}

TEST(PlayableTest, AChangeBeforeTheFirstSubmitIsRefused) {
  Scenario scenario;
  scenario.name = "s";
  scenario.intents["A"] = {};
  scenario.steps = {SubmitStep{"A", "w1", Json{{"amount_minor", 1}}, {}}};
  EXPECT_FALSE(check_playable(scenario).has_value());
  scenario.steps = {SubmitStep{"A", "w2", nullptr, {}}};
  EXPECT_NE(check_playable(scenario).error().message.find("no worker w2"), std::string::npos);
  scenario.steps = {SubmitStep{"A", "w1", nullptr, {}}, ReconcileStep{}};
  EXPECT_TRUE(check_playable(scenario).has_value());
  EXPECT_EQ(needed_capabilities(scenario), (std::vector<std::string_view>{"submit", "reconcile"}));
}

}  // namespace
}  // namespace onceproof::scenarios
