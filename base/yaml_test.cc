#include "base/yaml.h"

#include <gtest/gtest.h>

namespace onceproof {
namespace {

std::unique_ptr<YamlDocument> parsed(std::string_view text) {
  auto document = parse_yaml(text, "a.yaml");
  EXPECT_TRUE(document.has_value()) << document.error().message;
  return document ? std::move(*document) : nullptr;
}

// What parse_yaml says of a text that it refuses.
std::string refusal(std::string_view text) {
  const auto document = parse_yaml(text, "a.yaml");
  return document ? "" : document.error().message;
}

TEST(YamlTest, ReadsMapsListsAndScalars) {
  const auto document = parsed("a: 1\nb: [x, 'y', 2.5]\nc: {d: true, e: null}\n");
  ASSERT_NE(document, nullptr);
  YamlCursor root(*document);
  EXPECT_EQ(root.require("a").integer(0, 9), 1);
  EXPECT_EQ(root.require("b").texts(), (std::vector<std::string>{"x", "y", "2.5"}));
  EXPECT_EQ(root.require("c").json(), (Json{{"d", true}, {"e", nullptr}}));
  root.refuse_others();
  EXPECT_FALSE(root.failed());
}

TEST(YamlTest, QuotesMakeAText) {
  const auto document = parsed("{a: '817', b: 817, c: 8.5, d: \"true\", e: ~}");
  ASSERT_NE(document, nullptr);
  EXPECT_EQ(YamlCursor(*document).json(),
            (Json{{"a", "817"}, {"b", 817}, {"c", 8.5}, {"d", "true"}, {"e", nullptr}}));
}

TEST(YamlTest, AnUnknownMemberIsRefusedWithItsPlaceAndTheNearestName) {
  const auto document = parsed("steps: 1\nstpes: 2\n");
  ASSERT_NE(document, nullptr);
  YamlCursor root(*document);
  root.find("steps");
  root.refuse_others();
  ASSERT_TRUE(root.failed());
  EXPECT_TRUE(document->error->message.starts_with("a.yaml:2:1:")) << document->error->message;
  EXPECT_NE(document->error->message.find("steps"), std::string::npos);
}

TEST(YamlTest, TheFirstMistakeStays) {
  const auto document = parsed("a: x\nb: y\n");
  ASSERT_NE(document, nullptr);
  YamlCursor root(*document);
  root.require("b").integer(0, 9);
  root.require("a").integer(0, 9);
  ASSERT_TRUE(root.failed());
  EXPECT_TRUE(document->error->message.starts_with("a.yaml:2:4:")) << document->error->message;
}

TEST(YamlTest, AMissingMemberIsNoted) {
  const auto document = parsed("a: 1\n");
  ASSERT_NE(document, nullptr);
  YamlCursor(*document).require("title");
  ASSERT_TRUE(document->error.has_value());
  EXPECT_NE(document->error->message.find("title"), std::string::npos);
}

TEST(YamlTest, DurationsNeedTheirUnit) {
  const auto document = parsed("a: 80ms\nb: 80\n");
  ASSERT_NE(document, nullptr);
  YamlCursor root(*document);
  EXPECT_EQ(root.require("a").duration(), Milliseconds{80});
  EXPECT_FALSE(root.failed());
  root.require("b").duration();
  EXPECT_TRUE(root.failed());
}

TEST(YamlTest, RefusesWhatCanBeReadInTwoWays) {
  EXPECT_TRUE(refusal("a: 1\na: 2\n").starts_with("a.yaml:2:1:")) << refusal("a: 1\na: 2\n");
  EXPECT_NE(refusal("a: &x 1\nb: *x\n"), "");
  EXPECT_NE(refusal("a: !!str 1\n"), "");
  EXPECT_NE(refusal("a: 1\n---\nb: 2\n"), "");
  EXPECT_NE(refusal("a: [1, 2\n"), "");
  EXPECT_NE(refusal("a: \"\\q\"\n"), "");
}

TEST(YamlTest, ATagIsRefusedWhereverItStands) {
  for (const char* text : {"a: !!str 1\n", "a: !!map {}\n", "a: !!seq [1]\n", "a: ! {}\n",
                           "!!map\na: 1\n", "a: !mine\n  b: 1\n", "a: !!null\n"}) {
    EXPECT_NE(refusal(text).find("tags (!name) are not accepted"), std::string::npos)
        << text << refusal(text);
  }
}

TEST(YamlTest, HasLimits) {
  EXPECT_NE(refusal(std::string(100, '[') + std::string(100, ']')), "");
  EXPECT_NE(refusal("a: " + std::string(2 << 20, 'x')), "");
}

TEST(YamlTest, NearestIsTwoEditsAway) {
  EXPECT_EQ(nearest("keyd", {"keyed", "blind"}), "keyed");
  EXPECT_EQ(nearest("zzz", {"keyed", "blind"}), "");
}

}  // namespace
}  // namespace onceproof
