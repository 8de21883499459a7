#include "property_tests/source_text.h"

#include <gtest/gtest.h>

namespace onceproof::property_tests {
namespace {

using namespace std::string_literals;

TEST(SplitSourceTest, TellsCodeFromComments) {
  const auto parts = split_source("int a;  // rest\nint /* b */ c;\n");
  EXPECT_EQ(parts.code, "int a;         \nint         c;\n");
  EXPECT_EQ(parts.comments, "        // rest\n    /* b */   \n");
}

TEST(SplitSourceTest, BlanksWhatStandsInQuotes) {
  EXPECT_EQ(split_source(R"(f("a // \" b", '"', '\'');)").code, R"(f("         ", ' ', '  ');)");
  EXPECT_EQ(split_source("x = 1'000 + 'a'; // c").code, "x = 1'000 + ' ';     ");
}

TEST(SplitSourceTest, BlanksRawStringsOverManyLines) {
  const auto parts = split_source("a = R\"x(one \" )\" // two\nthree)x\"; // four");
  EXPECT_EQ(parts.code, "a = \"                  \n       \";        ");
  EXPECT_EQ(parts.comments, "                       \n          // four");
}

TEST(SplitSourceTest, EndsWithTheTextWhateverIsOpen) {
  for (const auto& text :
       {"/* open"s, "\"open"s, "R\"x(open"s, "R\"open"s, "'"s, "\"\\"s, "// open"s}) {
    EXPECT_EQ(split_source(text).code.size(), text.size()) << text;
    EXPECT_EQ(split_source(text).comments.size(), text.size()) << text;
  }
}

TEST(FindWordsTest, FindsWholeWordsOnly) {
  EXPECT_EQ(find_words("rand(); srand(); a.rand();", "rand("), (std::vector<std::size_t>{0, 19}));
  EXPECT_EQ(find_words("detach_all(); t.detach();", "detach()"), (std::vector<std::size_t>{16}));
}

TEST(FindWordsTest, AStarStandsForTheRestOfAnIdentifier) {
  EXPECT_EQ(find_words("steady_clock::now()", "*_clock::now"), (std::vector<std::size_t>{6}));
  EXPECT_EQ(find_words("TEST(A, DISABLED_B)", "DISABLED_*"), (std::vector<std::size_t>{8}));
  EXPECT_EQ(find_words("clock::nowhere", "*clock::now"), std::vector<std::size_t>{});
}

TEST(LinesTest, CountsFromOneAndKnowsColumns) {
  EXPECT_EQ(line_at("a\nb\nc", 0), 1);
  EXPECT_EQ(line_at("a\nb\nc", 4), 3);
  EXPECT_EQ(lines_of("a\n\nb"), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(lines_of("a\n"), (std::vector<std::string_view>{"a"}));
  EXPECT_EQ(columns_of("ёж…"), 3U);
}

}  // namespace
}  // namespace onceproof::property_tests
