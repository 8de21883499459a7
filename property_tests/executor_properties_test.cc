// The reference as it runs in production (real processes, HTTP, SQLite, kill -9) under random
// stories. A failure prints the shrunk story and RapidCheck's own line to reproduce it (RC_PARAMS).
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/file.h"
#include "property_tests/story.h"
#include "scenarios/run.h"

namespace onceproof::property_tests {
namespace {

scenarios::RunOptions options_for(const TempDir& work, std::vector<std::string> command) {
  scenarios::RunOptions options;
  options.sut.name = "reference";
  options.sut.command = std::move(command);
  options.sut.reference = true;
  options.sut.environment = {{"PATH", "/usr/bin:/bin"}};
  options.work_dir = work.path();
  return options;
}

Result<scenarios::CellResult> run_story(const Story& story, const std::string& profile,
                                        const std::vector<std::string>& command) {
  const auto work = TempDir::make("onceproof-property");
  if (!work) return tl::unexpected(work.error());
  const auto scenario = to_scenario(story, profile);
  const scenarios::Cell cell{.scenario = &scenario, .service = "payments", .profile = profile};
  RealClock clock;
  return scenarios::run_cell(cell, options_for(*work, command), clock);
}

void expect_one_effect_per_intent(const std::string& profile) {
  const auto story = *arbitrary_story();
  RC_LOG() << describe(story);
  const auto played = run_story(story, profile, {ONCEPROOF_BINARY, "worker"});
  if (!played) RC_FAIL(played.error().message);
  const auto& result = *played;
  for (const auto& violation : result.verdict.violations) {
    RC_LOG() << violation.invariant << " " << violation.intent << ": " << violation.observed
             << "\n";
  }
  RC_LOG() << result.verdict.reason;
  RC_CLASSIFY(result.history.wire.size() > 3, "more than three requests");
  RC_ASSERT(result.verdict.kind == scenarios::VerdictKind::pass);
}

TEST(ExecutorProperties, AnyStoryAtAKeyedProviderGivesOneEffectPerIntent) {
  EXPECT_TRUE(rc::check("keyed", [] { expect_one_effect_per_intent("keyed"); }));
}

TEST(ExecutorProperties, AnyStoryAtASearchableProviderGivesOneEffectPerIntent) {
  EXPECT_TRUE(rc::check("searchable", [] { expect_one_effect_per_intent("searchable"); }));
}

TEST(ExecutorProperties, AnyStoryAtADelayedIndexGivesOneEffectPerIntent) {
  EXPECT_TRUE(rc::check("delayed-index", [] { expect_one_effect_per_intent("delayed-index"); }));
}

TEST(ExecutorProperties, AnyStoryAtABlindProviderGivesAtMostOneEffectPerIntent) {
  EXPECT_TRUE(rc::check("blind", [] { expect_one_effect_per_intent("blind"); }));
}

// The property must be able to fail: against an executor that makes a new key for each attempt, it
// does.
TEST(ExecutorProperties, TheStoriesCatchAnExecutorThatMakesANewKeyPerRetry) {
  bool caught = false;
  for (const bool after_commit : {false, true}) {
    const Story story{.strikes = {{.after_commit = after_commit, .action = 2}},
                      .moves = {{}, {.kind = Move::Kind::reconcile}, {}}};
    const auto result = run_story(story, "searchable",
                                  {ONCEPROOF_BINARY, "worker", "--mutant", "new-key-per-retry"});
    ASSERT_TRUE(result.has_value()) << result.error().message;
    caught = caught || result->verdict.kind == scenarios::VerdictKind::violated;
  }
  EXPECT_TRUE(caught);
}

}  // namespace
}  // namespace onceproof::property_tests
