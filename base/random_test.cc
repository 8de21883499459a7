#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

namespace onceproof {
namespace {

// Gives the listed words, in order.
class ScriptedRandom final : public Random {
 public:
  explicit ScriptedRandom(std::vector<std::uint64_t> words) : words_(std::move(words)) {}
  std::uint64_t next() override { return words_.at(given_++); }
  std::size_t given() const { return given_; }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t given_ = 0;
};

// xoshiro256** from a state that splitmix64 makes of the seed; computed with a second
// implementation (Python), which gives the numbers of the authors' C code for the state {1, 2, 3,
// 4}. Source: https://prng.di.unimi.it
TEST(SeededRandomTest, GivesTheKnownNumbers) {
  const std::pair<std::uint64_t, std::array<std::uint64_t, 4>> known[] = {
      {0, {0x99ec5f36cb75f2b4, 0xbf6e1f784956452a, 0x1a5f849d4933e6e0, 0x6aa594f1262d2d2c}},
      {1, {0xb3f2af6d0fc710c5, 0x853b559647364cea, 0x92f89756082a4514, 0x642e1c7bc266a3a7}},
      {UINT64_MAX,
       {0x8f5520d52a7ead08, 0xc476a018caa1802d, 0x81de31c0d260469e, 0xbf658d7e065f3c2f}},
  };
  for (const auto& [seed, numbers] : known) {
    SeededRandom random(seed);
    for (const auto number : numbers) EXPECT_EQ(random.next(), number) << "seed " << seed;
  }
}

TEST(SeededRandomTest, OneSeedGivesOneSequenceAndAnotherSeedAnother) {
  SeededRandom a(817);
  SeededRandom b(817);
  SeededRandom other(818);
  bool differs = false;
  for (int i = 0; i < 1000; ++i) {
    const auto word = a.next();
    ASSERT_EQ(word, b.next()) << "at " << i;
    differs = differs || word != other.next();
  }
  EXPECT_TRUE(differs);
}

TEST(RandomTest, BelowStaysBelowAndReachesEachValue) {
  SeededRandom random(7);
  for (const std::uint64_t bound : {1ULL, 2ULL, 3ULL, 10ULL}) {
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 1000; ++i) seen.insert(random.below(bound));
    EXPECT_EQ(seen.size(), bound);
    EXPECT_LT(*seen.rbegin(), bound);
  }
}

TEST(RandomTest, BelowTakesTheLargestBounds) {
  SeededRandom random(7);
  for (const std::uint64_t bound : {1ULL << 63, (1ULL << 63) + 1, ~0ULL}) {
    for (int i = 0; i < 1000; ++i) ASSERT_LT(random.below(bound), bound);
  }
}

// 2^64 leaves 6 when divided by 10: the values from 2^64 - 6 on would make 0..5 likelier, so they
// are drawn again.
TEST(RandomTest, BelowRejectsTheBiasedTail) {
  ScriptedRandom random({UINT64_MAX, UINT64_MAX - 5, 17});
  EXPECT_EQ(random.below(10), 7U);
  EXPECT_EQ(random.given(), 3U);
}

TEST(RandomTest, BelowKeepsTheLastUnbiasedValue) {
  ScriptedRandom random({UINT64_MAX - 6});
  EXPECT_EQ(random.below(10), 9U);
}

TEST(RandomDeathTest, BelowZeroIsABug) {
  SeededRandom random(1);
  EXPECT_DEATH(random.below(0), "CHECK");
}

TEST(RandomTest, FillWritesLittleEndianWordsAndNothingBeyond) {
  ScriptedRandom random({0x0807060504030201, 0x0a09});
  std::array<std::uint8_t, 12> bytes;
  bytes.fill(0xff);
  random.fill(std::span(bytes).first(10));
  EXPECT_EQ(bytes, (std::array<std::uint8_t, 12>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0xff, 0xff}));
  EXPECT_EQ(random.given(), 2U);
}

TEST(RandomTest, FillOfNothingDrawsNothing) {
  ScriptedRandom random({});
  random.fill({});
  EXPECT_EQ(random.given(), 0U);
}

TEST(SystemRandomTest, DoesNotRepeatItself) {
  SystemRandom random;
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.next());
  EXPECT_EQ(seen.size(), 1000U);  // a repetition by chance: less than 1 in 10^13
}

}  // namespace
}  // namespace onceproof
