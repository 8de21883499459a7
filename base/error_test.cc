#include "base/error.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <vector>

#include "base/file.h"

namespace onceproof {
namespace {

// The enumerators as they stand in error.h, so that a code without a row cannot be added.
std::vector<std::string> declared_codes() {
  const std::string header = read_file(ONCEPROOF_SOURCE_DIR "/base/error.h").value();
  const auto begin = header.find("enum class ErrorCode {");
  const auto end = header.find('}', begin);
  std::istringstream lines(header.substr(begin, end - begin));
  std::vector<std::string> names;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const auto from = line.find_first_not_of(' ');
    const auto comma = line.find(',');
    if (comma != std::string::npos) names.push_back(line.substr(from, comma - from));
  }
  return names;
}

TEST(ErrorTableTest, HasOneRowForEachCodeInTheOrderOfTheEnum) {
  const auto names = declared_codes();
  ASSERT_FALSE(names.empty());
  ASSERT_EQ(error_table().size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(error_table()[i].name, names[i]);
    EXPECT_EQ(static_cast<std::size_t>(error_table()[i].code), i);
    EXPECT_EQ(&error_row(static_cast<ErrorCode>(i)), &error_table()[i]);
  }
}

TEST(ErrorTableTest, NamesAndSentencesAreUniqueAndForPeople) {
  std::set<std::string_view> names;
  std::set<std::string_view> sentences;
  for (const auto& row : error_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(sentences.insert(row.sentence).second) << row.name;
    EXPECT_FALSE(row.retry.empty()) << row.name;
    EXPECT_TRUE(row.sentence.ends_with('.')) << row.name;
    EXPECT_TRUE(std::isupper(static_cast<unsigned char>(row.sentence.front()))) << row.name;
  }
}

TEST(ErrorTableTest, FailuresOfTheNetworkAndTheDiskAreIndefinite) {
  for (const auto code : {ErrorCode::connection_failed, ErrorCode::timed_out, ErrorCode::io_failed,
                          ErrorCode::journal_unavailable, ErrorCode::sut_failed}) {
    EXPECT_EQ(error_row(code).certainty, Certainty::indefinite) << error_row(code).name;
  }
  for (const auto code : {ErrorCode::invalid_argument, ErrorCode::not_found, ErrorCode::lease_held,
                          ErrorCode::stale_attempt, ErrorCode::port_busy}) {
    EXPECT_EQ(error_row(code).certainty, Certainty::definite) << error_row(code).name;
  }
}

TEST(ErrorTest, FailCarriesCodeCertaintyAndMessage) {
  const Result<int> result = fail(ErrorCode::timed_out, "no answer in 250 ms");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::timed_out);
  EXPECT_EQ(result.error().certainty(), Certainty::indefinite);
  EXPECT_EQ(result.error().message, "no answer in 250 ms");
}

TEST(ErrorTableDeathTest, ACodeOutsideTheTableIsABug) {
  EXPECT_DEATH(error_row(static_cast<ErrorCode>(error_table().size())), "error.cc:.*CHECK");
}

}  // namespace
}  // namespace onceproof
