#include "scenarios/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "scenarios/playable.h"
#include "scenarios/scenario_file.h"
#include "scenarios/suts/manifest.h"

namespace onceproof::scenarios {
namespace {

std::vector<Scenario> catalogue() {
  auto loaded = load_catalogue();
  EXPECT_TRUE(loaded.has_value()) << loaded.error().message;
  return loaded ? std::move(*loaded) : std::vector<Scenario>{};
}

TEST(CatalogueTest, EveryScenarioIsReadAndPlayable) {
  EXPECT_GE(catalogue().size(), 15U);
  for (const auto& scenario : catalogue()) {
    const auto playable = check_playable(scenario);
    EXPECT_TRUE(playable.has_value()) << playable.error().message;
    EXPECT_EQ(scenario.file, scenario.name + ".yaml");
  }
}

TEST(CatalogueTest, EveryStoryHasAControlAndOneInWhichTwoEffectsAreRight) {
  const auto all = catalogue();
  const auto has = [&](const std::string& name) {
    return std::ranges::find(all, name, &Scenario::name) != all.end();
  };
  for (const char* story : {"guide-lost-response", "crash-after-commit", "two-workers",
                            "delayed-index", "timeout-before-commit"}) {
    EXPECT_TRUE(has(story)) << story;
    EXPECT_TRUE(has(std::string(story) + "-control")) << story;
    EXPECT_TRUE(has(std::string(story) + "-two-effects")) << story;
  }
}

TEST(CatalogueTest, NamesThatRefer) {
  const auto all = catalogue();
  std::set<std::string> names;
  for (const auto& scenario : all) EXPECT_TRUE(names.insert(scenario.name).second);
  for (const auto& scenario : all) {
    if (!scenario.control_of.empty()) {
      EXPECT_TRUE(names.contains(scenario.control_of)) << scenario.name;
    }
    if (!scenario.twin.empty()) {
      EXPECT_TRUE(names.contains(scenario.twin)) << scenario.name;
    }
  }
}

// The first indented block of a page that begins with `first`, without its indent.
std::string example_of(const std::string& page, const std::string& first) {
  const auto text =
      read_file(std::filesystem::path(ONCEPROOF_SOURCE_DIR) / page).value_or(std::string());
  std::string example;
  for (auto from = text.find("    " + first); from < text.size();) {
    const auto end = std::min(text.find('\n', from), text.size());
    if (text.compare(from, 4, "    ") != 0) break;
    example += text.substr(from + 4, end - from - 4) + "\n";
    from = end + 1;
  }
  return example;
}

TEST(DocsTest, TheExamplesOfScenariosMdAreRead) {
  const auto scenario = parse_scenario(example_of("docs/scenarios.md", "scenario:"), "example");
  ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
  EXPECT_EQ(scenario->steps.size(), 4U);
  const auto manifest = parse_manifest(example_of("docs/scenarios.md", "name:"), "onceproof.yaml");
  ASSERT_TRUE(manifest.has_value()) << manifest.error().message;
  EXPECT_EQ(manifest->answer_timeout, Milliseconds{10'000});
}

// The guide's check, steps 1 to 7.
TEST(CatalogueTest, TheGuidesScenarioIsTheGuides) {
  const auto all = catalogue();
  const auto guide = std::ranges::find(all, "guide-lost-response", &Scenario::name);
  ASSERT_NE(guide, all.end());
  EXPECT_EQ(guide->intents.at("A").operation_key, "payment:order-817:intent-01");
  ASSERT_EQ(guide->faults.size(), 1U);
  EXPECT_EQ(guide->faults[0].fault.at, faults::Point::after_commit);
  EXPECT_EQ(guide->faults[0].fault.action.kind, faults::ActionKind::hang);
  const auto& last = std::get<SubmitStep>(guide->steps.back());
  EXPECT_EQ(last.changed_params, (Json{{"amount_minor", 490001}}));
  EXPECT_EQ(last.expect.status, std::vector<std::string>{"conflict"});
  EXPECT_EQ(last.expect.calls, 0);
  EXPECT_EQ(guide->expect.effects.at("A"), 1);
}

}  // namespace
}  // namespace onceproof::scenarios
