#include "reference/sealer.h"

#include <gtest/gtest.h>

namespace onceproof {
namespace {

const std::string kOld(64, 'a');
const std::string kNew(64, 'b');
const Json kParams = {{"amount_minor", 490000}, {"card", "4242424242424242"}};

Sealer sealer_of(const std::string& text) {
  return Sealer::from_text(text, "keys").value();
}

std::string refusal(std::string_view text) {
  const auto sealer = Sealer::from_text(text, "keys.txt");
  return sealer ? "accepted" : sealer.error().message;
}

TEST(SealerTest, OpensForItsOperationOnly) {
  SystemRandom random;
  const auto sealer = sealer_of(kNew);
  const auto sealed = sealer.seal("op_1", kParams, random);
  EXPECT_EQ(sealed.find("4242"), std::string::npos);
  EXPECT_EQ(sealer.open("op_1", sealed).value(), kParams);
  EXPECT_EQ(sealer.open("op_2", sealed).error().code, ErrorCode::journal_corrupt);
  EXPECT_EQ(sealer.open("op_1", sealed.substr(0, 20)).error().code, ErrorCode::journal_corrupt);
  EXPECT_EQ(sealer.open("op_1", "").error().code, ErrorCode::journal_corrupt);
}

TEST(SealerTest, TheFirstKeySealsAndAllOpen) {
  SystemRandom random;
  const auto before = sealer_of(kOld).seal("op_1", kParams, random);
  const auto both = sealer_of("# since May\n" + kNew + "\n\n" + kOld + "\n");
  EXPECT_EQ(both.open("op_1", before).value(), kParams);
  const auto after = both.seal("op_1", kParams, random);
  EXPECT_EQ(sealer_of(kNew).open("op_1", after).value(), kParams);
  const auto missing = sealer_of(kOld).open("op_1", after);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_NE(missing.error().message.find("not at hand"), std::string::npos);
}

TEST(SealerTest, AMessageNamesTheLineAndNeverShowsAKey) {
  EXPECT_EQ(refusal(kNew + "\n" + kOld.substr(1)),
            "keys.txt:2: a key is 64 hexadecimal digits, such as `openssl rand -hex 32` prints; "
            "this line has 63 characters");
  EXPECT_NE(refusal(std::string(64, 'g')).find("keys.txt:1"), std::string::npos);
  EXPECT_NE(refusal("# nothing\n").find("no key in it"), std::string::npos);
}

}  // namespace
}  // namespace onceproof
