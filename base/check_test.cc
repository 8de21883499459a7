#include "base/check.h"

#include <gtest/gtest.h>

namespace onceproof {
namespace {

TEST(CheckTest, EvaluatesItsConditionOnce) {
  int evaluated = 0;
  CHECK(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

TEST(CheckDeathTest, SaysWhatFailedAndWhere) {
  const int rows = 2;
  EXPECT_DEATH(CHECK(rows == 1), "check_test.cc:[0-9]+: CHECK\\(rows == 1\\) failed");
}

}  // namespace
}  // namespace onceproof
