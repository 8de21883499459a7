#include "reference/operation_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "reference/operation.h"

namespace onceproof {
namespace {

class FixedRandom final : public Random {
 public:
  explicit FixedRandom(std::vector<std::uint64_t> words) : words_(std::move(words)) {}
  std::uint64_t next() override { return words_.at(at_++); }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t at_ = 0;
};

// RFC 9562, appendix A.6: 2022-02-22 14:22:22.00 GMT-05:00, rand_a 0xCC3, rand_b
// 0x18C4DC0C0C07398F.
TEST(OperationKeyTest, IsTheUuidOfRfc9562AppendixA6) {
  FixedRandom random({0xcc3, 0x18c4dc0c0c07398f});
  EXPECT_EQ(make_operation_key(CivilTime{Milliseconds{0x017f22e279b0}}, random),
            "op_017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
}

TEST(OperationKeyTest, VersionAndVariantStandWhateverTheRandomBitsAre) {
  FixedRandom ones({UINT64_MAX, UINT64_MAX});
  EXPECT_EQ(make_operation_key(CivilTime{Milliseconds{(std::int64_t{1} << 48) - 1}}, ones),
            "op_ffffffff-ffff-7fff-bfff-ffffffffffff");
  FixedRandom zeros({0, 0});
  EXPECT_EQ(make_operation_key(CivilTime{}, zeros), "op_00000000-0000-7000-8000-000000000000");
}

TEST(OperationKeyTest, LaterKeysSortAfterEarlierOnes) {
  SeededRandom random(1);
  std::string last;
  for (int ms = 0; ms < 2'000; ++ms) {
    const auto key =
        make_operation_key(CivilTime{Milliseconds{1'767'225'600'000 + ms * 37}}, random);
    EXPECT_LT(last, key);
    last = key;
  }
}

TEST(OperationKeyTest, KeysOfOneInstantDiffer) {
  SystemRandom random;
  std::set<std::string> keys;
  for (int i = 0; i < 1'000; ++i) keys.insert(make_operation_key(CivilTime{}, random));
  EXPECT_EQ(keys.size(), 1'000u);
}

TEST(OperationKeyTest, MadeKeysPassTheCheck) {
  SystemRandom random;
  EXPECT_TRUE(check_operation_key(make_operation_key(CivilTime{}, random)));
}

TEST(OperationKeyTest, CallersKeysAreVisibleAscii) {
  EXPECT_TRUE(check_operation_key("payment:order-817:intent-01"));
  EXPECT_TRUE(check_operation_key("!"));
  EXPECT_TRUE(check_operation_key("~"));
  EXPECT_TRUE(check_operation_key(std::string(200, 'k')));
}

TEST(OperationKeyTest, OtherKeysAreRefusedWithTheReason) {
  const auto refusal = [](std::string_view key) {
    const auto done = check_operation_key(key);
    return done ? std::string("accepted") : done.error().message;
  };
  EXPECT_EQ(refusal(""), "operation_key: 0 characters; it must have 1 to 200");
  EXPECT_EQ(refusal(std::string(201, 'k')), "operation_key: 201 characters; it must have 1 to 200");
  EXPECT_TRUE(refusal("order 817").starts_with("operation_key: byte 6 is 0x20; "));
  EXPECT_TRUE(refusal("a\n").starts_with("operation_key: byte 2 is 0x0a; "));
  EXPECT_TRUE(refusal("\x7f").starts_with("operation_key: byte 1 is 0x7f; "));
  EXPECT_TRUE(refusal("\xd0\xba").starts_with("operation_key: byte 1 is 0xd0; "));
  EXPECT_TRUE(refusal(std::string_view("\0", 1)).starts_with("operation_key: byte 1 is 0x00; "));
}

TEST(OperationTest, StatusesAreTheGuidesFive) {
  for (const auto status : {Status::pending, Status::in_progress, Status::unknown,
                            Status::succeeded, Status::failed_final}) {
    EXPECT_EQ(parse_status(to_text(status)), status);
  }
  EXPECT_EQ(to_text(Status::failed_final), "failed_final");
  for (const auto* text : {"", "Pending", "failed", "review", "pending "}) {
    EXPECT_EQ(parse_status(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace onceproof
