#include "base/json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace onceproof {
namespace {

using namespace std::string_view_literals;

std::string refusal(std::string_view text, JsonLimits limits = {}) {
  const auto value = parse_json(text, "body", limits);
  if (value) return "accepted as " + to_line(*value);
  EXPECT_EQ(value.error().code, ErrorCode::parse_failed);
  return value.error().message;
}

std::string position(std::string_view text) {
  const std::string message = refusal(text);
  return message.substr(0, message.find(": "));
}

TEST(ParseJsonTest, ReadsEveryKindOfValue) {
  const auto value = parse_json(
      R"( {"s":"ё\u0451\ud83d\ude42","i":-7,"u":18446744073709551615,"f":1.5e2,"t":true,)"
      R"("n":null,"a":[1,[2],{}]} )");
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(
      to_line(*value),
      R"({"a":[1,[2],{}],"f":150.0,"i":-7,"n":null,"s":"ёё🙂","t":true,"u":18446744073709551615})");
}

TEST(ParseJsonTest, ReadsAScalarAtTheTop) {
  EXPECT_EQ(parse_json("null").value(), Json(nullptr));
  EXPECT_EQ(parse_json("\"x\"").value(), Json("x"));
  EXPECT_EQ(parse_json("0").value(), Json(0));
}

TEST(ParseJsonTest, RefusesADuplicateMemberAndSaysWhereItStands) {
  EXPECT_EQ(refusal(R"({"a":1,"a":1})"),
            "body:1:8: duplicate member \"a\"; a member may stand once");
  EXPECT_EQ(refusal("{\"x\":[1,{\n  \"k\\\"\": 1,\n  \"k\\\"\": 2}]}"),
            "body:3:3: duplicate member \"x[1].k\"\"; a member may stand once");
}

TEST(ParseJsonTest, RefusesADuplicateThatIsWrittenWithAnEscape) {
  EXPECT_EQ(position(R"({"amount":1,"\u0061mount":2})"), "body:1:13");
}

TEST(ParseJsonTest, AllowsOneNameInDifferentObjects) {
  EXPECT_TRUE(parse_json(R"({"a":{"a":1},"b":[{"a":1},{"a":1}]})"));
}

TEST(ParseJsonTest, SaysLineAndColumnOfTheFault) {
  EXPECT_EQ(position(""), "body:1:1");
  EXPECT_EQ(position("{"), "body:1:2");
  EXPECT_EQ(position("{\"a\": tru}"), "body:1:10");
  EXPECT_EQ(position("{\n  \"a\": 1,\n  }"), "body:3:3");
  EXPECT_EQ(position("[1 2]"), "body:1:4");
}

TEST(ParseJsonTest, SaysWhatWasExpectedInAFewWords) {
  EXPECT_EQ(refusal("[1 2]"),
            "body:1:4: syntax error while parsing array - unexpected number literal; expected ']'");
}

TEST(ParseJsonTest, RefusesTextAfterTheValue) {
  EXPECT_EQ(position("{} {}"), "body:1:4");
  EXPECT_EQ(position("1,"), "body:1:2");
}

TEST(ParseJsonTest, RefusesWhatRfc8259DoesNotKnow) {
  for (const auto text :
       {"NaN"sv,     "Infinity"sv,  "-Infinity"sv, "+1"sv,        "01"sv,   "1."sv,
        ".5"sv,      "0x10"sv,      "'a'"sv,       "{a:1}"sv,     "[1,]"sv, "{\"a\":1,}"sv,
        "// c\n1"sv, "/* c */ 1"sv, "\"a\nb\""sv,  "\"\\x41\""sv, "True"sv, "nul"sv,
        "\0"sv,      "[\0]"sv,      "\"a\0b\""sv}) {
    EXPECT_TRUE(refusal(text).starts_with("body:1:") || refusal(text).starts_with("body:2:"))
        << text << ": " << refusal(text);
  }
}

TEST(ParseJsonTest, RefusesALoneSurrogate) {
  for (const auto text : {R"("\ud800")", R"("\udc00")", R"("\ud800\ud800")", R"("\ud800x")",
                          R"("\ude42\ud83d")", R"({"\ud800":1})"}) {
    EXPECT_TRUE(refusal(text).starts_with("body:1:")) << text << ": " << refusal(text);
  }
}

TEST(ParseJsonTest, NamesTheMemberThatIsWrong) {
  EXPECT_EQ(refusal(R"({"lines":[{"n":1},{"n":99999999999999999999}]})"),
            "body:1:24: lines[1].n: an integer that does not fit into 64 bits");
  EXPECT_TRUE(refusal(R"({"a":{"note":"\ud800"}})").find(": a.note: ") != std::string::npos)
      << refusal(R"({"a":{"note":"\ud800"}})");
  EXPECT_EQ(refusal("{\"a\u001b[2J\":1e999}").find('\x1b'), std::string::npos);
}

// Whatever is wrong with it, a body may hold a card's number, and its error may go to a log.
TEST(ParseJsonTest, NoMessageShowsAValue) {
  for (const auto text :
       {R"({"card":"4242424242424242)", R"({"card":4242424242424242424242})",
        R"({"card":4242424242424242e999})", R"({"card":"4242424242424242\ud800"})",
        R"({"card":"4242424242424242\q"})", R"({"card":4242424242424242x})",
        R"({"card":"; last read: '4242424242424242\q; expected ']'"})",
        R"({"card":"4242424242424242" "x"})", R"({"card" "4242424242424242"})"}) {
    EXPECT_EQ(refusal(text).find("4242"), std::string::npos) << refusal(text);
  }
}

TEST(ParseJsonTest, RefusesBytesThatAreNotUtf8) {
  for (const auto text : {"\"\xff\""sv, "\"\xc0\xaf\""sv, "\"\xed\xa0\x80\""sv, "\"\xe2\x82\""sv,
                          "\"\xf4\x90\x80\x80\""sv, "\"\x80\""sv}) {
    EXPECT_TRUE(refusal(text).starts_with("body:1:")) << refusal(text);
  }
}

TEST(ParseJsonTest, RefusesAByteOrderMark) {
  EXPECT_EQ(refusal("\xef\xbb\xbf{}"), "body:1:1: begins with a byte order mark; JSON has none");
}

TEST(ParseJsonTest, RefusesNumbersThatItWouldHaveToChange) {
  EXPECT_EQ(refusal("[18446744073709551616]"),
            "body:1:2: [0]: an integer that does not fit into 64 bits");
  EXPECT_EQ(refusal("-9223372036854775809"), "body:1:1: an integer that does not fit into 64 bits");
  EXPECT_TRUE(refusal("[1e400]").starts_with("body:1:")) << refusal("[1e400]");
  EXPECT_NE(refusal("[1e400]").find("beyond what a double holds"), std::string::npos)
      << refusal("[1e400]");
  EXPECT_TRUE(parse_json("-9223372036854775808"));
  EXPECT_TRUE(parse_json("1e300"));
}

TEST(ParseJsonTest, RefusesTooMuchDepthAndSaysWhere) {
  const JsonLimits limits{.max_bytes = 1000, .max_depth = 3};
  EXPECT_TRUE(parse_json("[[[1]]]", "body", limits));
  EXPECT_TRUE(parse_json("[[[]],[[]],{\"a\":{}}]", "body", limits));
  EXPECT_EQ(refusal("[[[[1]]]]", limits), "body:1:4: nested deeper than 3 levels");
  EXPECT_EQ(refusal("{\"a\":\n[{\"b\":{}}]}", limits), "body:2:7: nested deeper than 3 levels");
}

TEST(ParseJsonTest, SurvivesAHundredThousandBrackets) {
  EXPECT_EQ(refusal(std::string(100'000, '[')), "body:1:65: nested deeper than 64 levels");
}

TEST(ParseJsonTest, RefusesTooManyBytes) {
  const JsonLimits limits{.max_bytes = 4, .max_depth = 3};
  EXPECT_TRUE(parse_json("1234", "body", limits));
  const auto value = parse_json("12345", "body", limits);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::limit_exceeded);
  EXPECT_EQ(value.error().message, "body: 5 bytes; at most 4 are read");
}

TEST(ToLineTest, IsOneLineAndNeverThrows) {
  EXPECT_EQ(to_line(Json{{"b", "x\ny"}, {"a", 1}}), R"({"a":1,"b":"x\ny"})");
  EXPECT_EQ(to_line(Json("\xff")), "\"\ufffd\"");
}

TEST(FindTest, GivesMembersOfTheRightType) {
  const Json object{{"s", "text"}, {"i", -7}, {"b", true}, {"f", 5.0}, {"u", UINT64_MAX}};
  EXPECT_EQ(find_string(object, "s"), "text");
  EXPECT_EQ(find_integer(object, "i"), -7);
  EXPECT_EQ(find_bool(object, "b"), true);
  ASSERT_NE(find_member(object, "f"), nullptr);
  EXPECT_EQ(*find_member(object, "f"), 5.0);
}

TEST(FindTest, GivesNothingForAnotherTypeAnAbsentMemberOrNoObject) {
  const Json object{{"s", "text"}, {"i", -7}, {"f", 5.0}, {"u", UINT64_MAX}};
  EXPECT_FALSE(find_string(object, "i"));
  EXPECT_FALSE(find_integer(object, "s"));
  EXPECT_FALSE(find_integer(object, "f"));  // a float is no integer, whatever its value
  EXPECT_FALSE(find_integer(object, "u"));  // does not fit
  EXPECT_FALSE(find_bool(object, "i"));
  EXPECT_FALSE(find_string(object, "absent"));
  EXPECT_EQ(find_member(Json::array({1}), "0"), nullptr);
  EXPECT_EQ(find_member(Json(1), "s"), nullptr);
}

}  // namespace
}  // namespace onceproof
