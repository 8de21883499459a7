// The house is tidy, and each alarm is known to ring.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "property_tests/house_rules.h"

namespace onceproof::property_tests {
namespace {

std::vector<Finding> check(std::string_view rule, const SourceTree& tree) {
  std::vector<Finding> findings;
  for (const auto& candidate : house_rules()) {
    if (candidate.name == rule) candidate.check(tree, findings);
  }
  return findings;
}

class TidyTest : public ::testing::TestWithParam<HouseRule> {};

TEST_P(TidyTest, TheTreeKeepsTheRule) {
  static const SourceTree tree = read_tree(ONCEPROOF_SOURCE_DIR).value();
  ASSERT_NE(find_file(tree, "base/error.h"), nullptr);
  ASSERT_FALSE(find_file(tree, "base/error.h")->text.empty());
  std::vector<Finding> findings;
  GetParam().check(tree, findings);
  for (const auto& finding : findings) ADD_FAILURE() << to_text(finding);
}

INSTANTIATE_TEST_SUITE_P(House, TidyTest,
                         ::testing::ValuesIn(house_rules().begin(), house_rules().end()),
                         [](const auto& rule) { return std::string(rule.param.name); });

// A small bad tree that a rule must find, at the line given; with `line` 0, a good one that it must
// leave alone.
struct Sample {
  std::string_view rule;
  SourceTree tree;  // sorted by path
  int line;
};

SourceTree file(std::string path, std::string text) {
  return {{std::move(path), std::move(text)}};
}

std::vector<Sample> samples() {
  const std::string long_line(101, 'x');
  return {
      {"Layers", file("reference/a.cc", "\n#include \"fakes/ledger.h\"\n"), 2},
      {"Layers", file("fakes/a_test.cc", "#include \"reference/journal.h\"\n"), 1},
      {"Layers", file("scenarios/a.cc", "#include \"scenarios/mutants/mutant.h\"\n"), 1},
      {"Layers", file("base/a.cc", "#include \"reference/journal.h\"\n"), 1},
      {"Layers", file("faults/a.cc", "#include \"engine.h\"\n"), 1},
      {"Layers", file("helpers/a.cc", ""), 1},
      {"Layers", file("scenarios/mutants/a.cc", "#include \"reference/journal.h\"\n"), 0},
      {"Layers",
       file("fakes/a.cc", "// #include \"reference/journal.h\"\n#include \"base/json.h\"\n"), 0},
      {"BannedWords", file("fakes/a_test.cc", "\nstd::this_thread::sleep_for(1s);\n"), 2},
      {"BannedWords", file("reference/a.cc", "auto t = std::chrono::steady_clock::now();\n"), 1},
      {"BannedWords", file("fakes/a.cc", "std::random_device d;\n"), 1},
      {"BannedWords", file("fakes/a.cc", "std::uniform_int_distribution<int> d;\n"), 1},
      {"BannedWords", file("fakes/a.cc", "int x = rand() % 6;\n"), 1},
      {"BannedWords", file("fakes/a.cc", "auto* x = std::getenv(\"HOME\");\n"), 1},
      {"BannedWords", file("fakes/a.cc", "worker.detach();\n"), 1},
      {"BannedWords", file("fakes/a.cc", "std::thread worker(run);\n"), 1},
      {"BannedWords", file("fakes/a_test.cc", "TEST(A, DISABLED_B) {}\n"), 1},
      {"BannedWords", file("base/a.cc", "std::chrono::steady_clock::now();\n"), 0},
      {"BannedWords", file("cli/a.cc", "std::getenv(\"HOME\");\n"), 0},
      {"BannedWords",
       file("fakes/a.cc", "std::thread::id id; // sleep_for\nf(\"rand()\"); my_rand();\n"), 0},
      {"IterationOverUnordered",
       file("fakes/a.cc",
            "std::unordered_map<int, std::vector<int>> rows;\n\nfor (auto& r : rows) {}\n"),
       3},
      {"IterationOverUnordered",
       {{"fakes/a.cc", "void A::f() {\n  auto it = keys_.begin();\n}\n"},
        {"fakes/a.h", "std::unordered_set<std::string> keys_;\n"}},
       2},
      {"IterationOverUnordered",
       file("fakes/a.cc",
            "std::unordered_map<int, int> rows;\nstd::map<int, int> m;\nfor (auto& r : m) {}\n"),
       0},
      {"SkippedTests", file("fakes/a_test.cc", "\nGTEST_SKIP();\n"), 2},
      {"SkippedTests", file("fakes/a_test.cc", "GTEST_SKIP() << \"no PostgreSQL here\";\n"), 0},
      {"UnfinishedWork", file("fakes/a.cc", "f();  // TODO: more\n"), 1},
      {"UnfinishedWork", file("docs/a.md", "one\nFIXME\n"), 2},
      {"UnfinishedWork", file("dev", "# XXX\n"), 1},
      {"UnfinishedWork", file("fakes/a.cc", "f(\"TODO\");  // no TODOS\n"), 0},
      {"CatchAll", file("fakes/a.cc", "try {\n} catch (...) {\n}\n"), 2},
      {"CatchAll", file("cli/main.cc", "} catch (...) {\n"), 0},
      {"CatchAll",
       file("fakes/a.cc", "} catch (...) {  // thread entry: a leak would end the process\n"), 0},
      {"Sizes", file("fakes/a.cc", std::string(601, '\n')), 601},
      {"Sizes", file("fakes/a_test.cc", std::string(801, '\n')), 801},
      {"Sizes", file("README.md", std::string(151, '\n')), 151},
      {"Sizes", file("fakes/a.cc", std::string(600, '\n')), 0},
      {"Sizes", file("fakes/a_test.cc", std::string(800, '\n')), 0},
      {"Columns", file("fakes/a.h", "\n// " + long_line + "\n"), 2},
      {"Columns", file("fakes/a.cc", "int " + long_line + ";"), 1},
      {"Columns", file("fakes/a.cc", "f(R\"(\n" + long_line + "\n)\");\n"), 0},
      {"Columns", file("fakes/a.cc", "// " + std::string(97, 'x') + "\n"), 0},
      {"Headers", file("fakes/a.h", "#pragma once\n"), 1},
      {"Headers", file("fakes/a.h", "// Says what it is for.\n#ifndef A_H\n"), 1},
      {"Headers", file("fakes/a.h", "// Says what it is for.\n#pragma once\n"), 0},
      {"ThirdPartyHeaders", file("fakes/a.h", "\n#include <httplib.h>\n"), 2},
      {"ThirdPartyHeaders", file("reference/a.cc", "#include <sqlite3.h>\n"), 1},
      {"ThirdPartyHeaders", file("scenarios/a.cc", "#include <yaml-cpp/yaml.h>\n"), 1},
      {"ThirdPartyHeaders", file("reference/a.cc", "#include <openssl/evp.h>\n"), 1},
      {"ThirdPartyHeaders", file("fakes/a.cc", "#include <gtest/gtest.h>\n"), 1},
      {"ThirdPartyHeaders", file("fakes/a.cc", "#include <boost/asio.hpp>\n"), 1},
      {"ThirdPartyHeaders",
       file("fakes/a_test.cc", "#include <gtest/gtest.h>\n#include <sys/stat.h>\n"), 0},
      {"CMakeLists", file("fakes/a.cc", ""), 1},
      {"CMakeLists", {{"fakes/CMakeLists.txt", "SOURCES b.cc  # a.cc\n"}, {"fakes/a.cc", ""}}, 1},
      {"CMakeLists",
       {{"fakes/CMakeLists.txt", "SOURCES sub/a.cc aa.cc)\n"}, {"fakes/a.cc", ""}},
       1},
      {"CMakeLists",
       {{"fakes/CMakeLists.txt", "SOURCES a.cc sub/b.cc)\n"},
        {"fakes/a.cc", ""},
        {"fakes/sub/b.cc", ""}},
       0},
      {"Pages", file("docs/a.md", "See [itself](a.md).\n"), 1},
      {"Pages", file("README.md", "\nSee [a](docs/a.md).\n"), 2},
      {"Pages",
       {{"README.md", "[a](docs/a.md#top), [b](https://example.org), [c](docs/)\n"},
        {"docs/a.md", "[home](../README.md)\n"}},
       0},
  };
}

TEST(HouseRulesTest, EachSampleRingsItsAlarmAtItsLine) {
  for (const auto& sample : samples()) {
    const auto findings = check(sample.rule, sample.tree);
    std::string heard;
    for (const auto& finding : findings) heard += "  " + to_text(finding) + "\n";
    const std::string shown =
        fmt::format("{}: {}\n{}", sample.rule, sample.tree.back().path, heard);
    if (sample.line == 0) {
      EXPECT_TRUE(findings.empty()) << shown;
    } else {
      ASSERT_EQ(findings.size(), 1U) << shown;
      EXPECT_EQ(findings[0].line, sample.line) << shown;
    }
  }
}

TEST(HouseRulesTest, EachRuleHasABadSampleAndAGoodOne) {
  for (const auto& rule : house_rules()) {
    bool bad = false;
    bool good = false;
    for (const auto& sample : samples()) {
      if (sample.rule != rule.name) continue;
      (sample.line == 0 ? good : bad) = true;
    }
    EXPECT_TRUE(bad && good) << rule.name;
  }
}

}  // namespace
}  // namespace onceproof::property_tests
