#include "reference/canonical_json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "base/random.h"

namespace onceproof {
namespace {

std::string canonical(const Json& value) {
  auto text = canonical_json(value);
  EXPECT_TRUE(text) << text.error().message;
  return text.value_or("");
}

std::string canonical_text(std::string_view json) {
  auto value = parse_json(json);
  EXPECT_TRUE(value) << value.error().message;
  return canonical(value.value_or(nullptr));
}

std::string refusal(const Json& value) {
  const auto text = canonical_json(value);
  if (text) return "accepted as " + *text;
  EXPECT_EQ(text.error().code, ErrorCode::invalid_argument);
  return text.error().message;
}

double from_bits(std::uint64_t bits) {
  return std::bit_cast<double>(bits);
}

TEST(CanonicalJsonTest, NumbersOfRfc8785AppendixB) {
  struct Row {
    std::uint64_t bits;
    std::string_view text;
  };
  static constexpr Row kRows[] = {
      {0x0000000000000000, "0"},
      {0x8000000000000000, "0"},
      {0x0000000000000001, "5e-324"},
      {0x8000000000000001, "-5e-324"},
      {0x7fefffffffffffff, "1.7976931348623157e+308"},
      {0xffefffffffffffff, "-1.7976931348623157e+308"},
      {0x4340000000000000, "9007199254740992"},
      {0xc340000000000000, "-9007199254740992"},
      {0x4430000000000000, "295147905179352830000"},
      {0x44b52d02c7e14af5, "9.999999999999997e+22"},
      {0x44b52d02c7e14af6, "1e+23"},
      {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
      {0x444b1ae4d6e2ef4e, "999999999999999700000"},
      {0x444b1ae4d6e2ef4f, "999999999999999900000"},
      {0x444b1ae4d6e2ef50, "1e+21"},
      {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
      {0x3eb0c6f7a0b5ed8d, "0.000001"},
      {0x41b3de4355555553, "333333333.3333332"},
      {0x41b3de4355555554, "333333333.33333325"},
      {0x41b3de4355555555, "333333333.3333333"},
      {0x41b3de4355555556, "333333333.3333334"},
      {0x41b3de4355555557, "333333333.33333343"},
      {0xbecbf647612f3696, "-0.0000033333333333333333"},
      {0x43143ff3c1cb0959, "1424953923781206.2"},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(canonical(from_bits(row.bits)), row.text) << std::hex << row.bits;
  }
}

TEST(CanonicalJsonTest, NumbersThatAreNotFiniteAreRefused) {
  EXPECT_EQ(refusal(from_bits(0x7fffffffffffffff)),
            "the value: a number that is not finite; JSON has none");
  EXPECT_NE(refusal(from_bits(0x7ff0000000000000)).find("not finite"), std::string::npos);
  EXPECT_NE(refusal(from_bits(0xfff0000000000000)).find("not finite"), std::string::npos);
}

TEST(CanonicalJsonTest, AnIntegerAndTheSameNumberWithAFractionAreOneText) {
  EXPECT_EQ(canonical_text("[1, 1.0, 1e0, 10E-1, -0, -0.0, 100]"), "[1,1,1,1,0,0,100]");
  EXPECT_EQ(canonical_text("[1e20, 1e21, 123456789012345680000.0, 1.5e300, 1e-6, 1e-7, 0.00012]"),
            "[100000000000000000000,1e+21,123456789012345680000,1.5e+300,0.000001,1e-7,0.00012]");
}

TEST(CanonicalJsonTest, IntegersUpToTwoToThe53AreExact) {
  EXPECT_EQ(canonical_text("[9007199254740991, -9007199254740991]"),
            "[9007199254740991,-9007199254740991]");
  for (const char* text : {"9007199254740992", "-9007199254740992", "9223372036854775807",
                           "-9223372036854775808", "18446744073709551615"}) {
    EXPECT_NE(refusal(parse_json(text).value()).find("beyond 2^53-1"), std::string::npos) << text;
  }
}

// The definition, not an implementation: the text reads back as the same double, and no text with
// fewer digits does.
TEST(CanonicalJsonTest, NumbersHaveTheFewestDigitsThatReadBack) {
  SeededRandom random(8785);
  for (int i = 0; i < 20'000; ++i) {
    const double value = from_bits(random.next());
    if (!std::isfinite(value)) continue;
    const std::string text = canonical(value);
    EXPECT_EQ(std::strtod(text.c_str(), nullptr), value) << text;
    std::string digits;
    for (const char c : text.substr(0, text.find('e'))) {
      if (c >= '0' && c <= '9' && !(digits.empty() && c == '0')) digits += c;
    }
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.size() < 2) continue;
    const int fewer = static_cast<int>(digits.size()) - 2;  // %.Ne writes N + 1 digits
    EXPECT_NE(std::strtod(fmt::format("{:.{}e}", value, fewer).c_str(), nullptr), value) << text;
  }
}

// Section 3.2.3: the keys and their order are the RFC's.
TEST(CanonicalJsonTest, MembersAreInTheOrderOfUtf16CodeUnits) {
  EXPECT_EQ(canonical_text(R"({"\u20ac": "Euro Sign", "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One", "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"})"),
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\","
            "\"\xc3\xb6\":\"Latin Small Letter O With Diaeresis\",\"\xe2\x82\xac\":\"Euro Sign\","
            "\"\xf0\x9f\x98\x80\":\"Emoji: Grinning Face\","
            "\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}");
}

TEST(CanonicalJsonTest, ACharacterBeyondTheBasicPlaneSortsAsItsSurrogates) {
  // U+10000 is 0xd800 0xdc00 in UTF-16: before U+E000, after U+D7FF. In bytes it would be last.
  EXPECT_EQ(canonical_text(R"({"\ue000":3,"\ud800\udc00":2,"\ud7ff":1,"\ud800\udc01":2.5,"a":0})"),
            "{\"a\":0,\"\xed\x9f\xbf\":1,\"\xf0\x90\x80\x80\":2,\"\xf0\x90\x80\x81\":2.5,"
            "\"\xee\x80\x80\":3}");
  EXPECT_EQ(canonical_text(R"({"x\uffff":2,"x\ud83d\ude00":1,"x":0})"),
            "{\"x\":0,\"x\xf0\x9f\x98\x80\":1,\"x\xef\xbf\xbf\":2}");
}

// Sections 3.2.2 and 3.2.3: the sample, and its bytes in section 3.2.4.
TEST(CanonicalJsonTest, TheSampleOfRfc8785Section32) {
  static constexpr unsigned char kBytes[] = {
      0x7b, 0x22, 0x6c, 0x69, 0x74, 0x65, 0x72, 0x61, 0x6c, 0x73, 0x22, 0x3a, 0x5b, 0x6e, 0x75,
      0x6c, 0x6c, 0x2c, 0x74, 0x72, 0x75, 0x65, 0x2c, 0x66, 0x61, 0x6c, 0x73, 0x65, 0x5d, 0x2c,
      0x22, 0x6e, 0x75, 0x6d, 0x62, 0x65, 0x72, 0x73, 0x22, 0x3a, 0x5b, 0x33, 0x33, 0x33, 0x33,
      0x33, 0x33, 0x33, 0x33, 0x33, 0x2e, 0x33, 0x33, 0x33, 0x33, 0x33, 0x33, 0x33, 0x2c, 0x31,
      0x65, 0x2b, 0x33, 0x30, 0x2c, 0x34, 0x2e, 0x35, 0x2c, 0x30, 0x2e, 0x30, 0x30, 0x32, 0x2c,
      0x31, 0x65, 0x2d, 0x32, 0x37, 0x5d, 0x2c, 0x22, 0x73, 0x74, 0x72, 0x69, 0x6e, 0x67, 0x22,
      0x3a, 0x22, 0xe2, 0x82, 0xac, 0x24, 0x5c, 0x75, 0x30, 0x30, 0x30, 0x66, 0x5c, 0x6e, 0x41,
      0x27, 0x42, 0x5c, 0x22, 0x5c, 0x5c, 0x5c, 0x5c, 0x5c, 0x22, 0x2f, 0x22, 0x7d};
  EXPECT_EQ(canonical_text(R"({
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  })"),
            std::string(reinterpret_cast<const char*>(kBytes), sizeof kBytes));
}

TEST(CanonicalJsonTest, EscapesAreTheShortestAndNoOthers) {
  EXPECT_EQ(canonical_text(R"("\u0008\u0009\u000a\u000c\u000d\u0022\u005c")"),
            R"("\b\t\n\f\r\"\\")");
  EXPECT_EQ(canonical_text(R"("\u0000\u0001\u000b\u001F\u0020\/")"),
            R"("\u0000\u0001\u000b\u001f /")");
  EXPECT_EQ(canonical_text(R"("\u007f\u0080\u2028\u2029\ufeff")"),
            "\"\x7f\xc2\x80\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf\"");
}

TEST(CanonicalJsonTest, NoUnicodeNormalisation) {
  EXPECT_NE(canonical_text(R"("\u00c5")"), canonical_text(R"("A\u030a")"));  // section 3.2.2.2
}

TEST(CanonicalJsonTest, WhiteSpaceAndOrderDoNotMatter) {
  EXPECT_EQ(canonical_text("{ \"b\" : [ ] ,\n \"a\" : { } }"), R"({"a":{},"b":[]})");
  EXPECT_EQ(canonical_text(R"([[], {"": 1}, [[2]]])"), R"([[],{"":1},[[2]]])");
}

TEST(CanonicalJsonTest, ErrorsNameThePath) {
  const std::int64_t large = std::int64_t{1} << 53;
  EXPECT_TRUE(refusal({{"items", {1, {{"price", large}}}}}).starts_with("items[1].price: "));
  EXPECT_TRUE(refusal({{1, large}, 2}).starts_with("[0][1]: "));
  EXPECT_TRUE(refusal({{"a", {{"b", std::nan("")}}}}).starts_with("a.b: "));
  EXPECT_TRUE(refusal({{"bad\n", std::nan("")}}).starts_with("bad\\n: "));  // escaped
}

TEST(CanonicalJsonTest, TextsThatAreNotUtf8AreRefused) {
  for (const std::string bad :
       {"\x80", "a\xc3", "\xc0\xaf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe2\x82",
        "\xf0\x9f\x98", "\xe2\x28\xa1"}) {
    EXPECT_TRUE(refusal({{"note", bad}}).starts_with("note: a text that is not UTF-8")) << bad;
    EXPECT_NE(refusal({{"k" + bad, 1}}).find("not UTF-8"), std::string::npos) << bad;
  }
  for (const std::string good : {"\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                                 "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(canonical(good), "\"" + good + "\"");
  }
}

TEST(CanonicalJsonTest, BinaryAndBottomlessValuesAreRefused) {
  EXPECT_NE(refusal(Json::binary({1, 2})).find("binary"), std::string::npos);
  Json deep = 1;
  for (int i = 0; i < 128; ++i) deep = Json::array({deep});
  EXPECT_TRUE(canonical_json(deep));
  EXPECT_NE(refusal(Json::array({deep})).find("deeper than 128"), std::string::npos);
}

}  // namespace
}  // namespace onceproof
