#include "reference/normalise.h"

#include <gtest/gtest.h>

namespace onceproof {
namespace {

ToolPolicy rules(const std::string& path, std::vector<FieldRule> list) {
  ToolPolicy policy;
  policy.fields[path] = std::move(list);
  return policy;
}

Json normal(const Json& params, const ToolPolicy& policy) {
  const auto value = normalise(params, policy.fields);
  EXPECT_TRUE(value) << value.error().message;
  if (!value) return "refused: " + value.error().message;
  EXPECT_EQ(normalise(*value, policy.fields).value(), *value) << "not idempotent";
  return *value;
}

std::string refusal(const Json& params, const ToolPolicy& policy) {
  const auto value = normalise(params, policy.fields);
  return value ? "accepted as " + value->dump() : value.error().message;
}

TEST(NormaliseTest, MinorUnitsAreWholeNumbers) {
  const auto policy = rules("sum", {FieldRule::minor_units});
  for (const Json& right : {Json(490000), Json(0), Json(-5), Json(9007199254740991)}) {
    EXPECT_EQ(normal({{"sum", right}}, policy)["sum"], right);
  }
  for (const Json& wrong :
       {Json(4900.0), Json(4900.5), Json("490000"), Json(nullptr), Json(true), Json::array({1})}) {
    EXPECT_TRUE(refusal({{"sum", wrong}}, policy)
                    .starts_with("sum: an amount in minor units is a whole number"))
        << wrong;
  }
  for (const Json& wrong :
       {Json(std::int64_t{1} << 53), Json(-(std::int64_t{1} << 53)), Json(UINT64_MAX)}) {
    EXPECT_TRUE(refusal({{"sum", wrong}}, policy).starts_with("sum: an amount beyond 2^53-1"))
        << wrong;
  }
}

TEST(NormaliseTest, CurrenciesAreThreeUpperCaseLetters) {
  const auto policy = rules("currency", {FieldRule::currency});
  EXPECT_EQ(normal({{"currency", "rUb"}}, policy)["currency"], "RUB");
  for (const Json& wrong :
       {Json("RU"), Json("RUBL"), Json("R1B"), Json("руб"), Json(643), Json(" RUB")}) {
    EXPECT_TRUE(
        refusal({{"currency", wrong}}, policy).starts_with("currency: a currency is three letters"))
        << wrong;
  }
}

TEST(NormaliseTest, DatesExist) {
  const auto policy = rules("on", {FieldRule::date});
  EXPECT_EQ(normal({{"on", "2028-02-29"}}, policy)["on"], "2028-02-29");
  for (const char* wrong : {"2026-02-29", "2026-13-01", "2026-1-1", "26-01-01",
                            "2026-01-01T00:00:00Z", "01.12.2026", ""}) {
    EXPECT_TRUE(refusal({{"on", wrong}}, policy).starts_with("on: a date is YYYY-MM-DD")) << wrong;
  }
}

TEST(NormaliseTest, TimestampsOfOneInstantAreOneText) {
  const auto policy = rules("at", {FieldRule::timestamp});
  const auto utc = [&](const char* text) {
    return normal({{"at", text}}, policy)["at"].get<std::string>();
  };
  EXPECT_EQ(utc("2026-12-01T09:05:36+03:00"), "2026-12-01T06:05:36Z");
  EXPECT_EQ(utc("2026-12-01t06:05:36.000z"), "2026-12-01T06:05:36Z");
  EXPECT_EQ(utc("2026-12-01T06:05:36.1200Z"), "2026-12-01T06:05:36.12Z");
  EXPECT_EQ(utc("2026-01-01T00:30:00+01:00"), "2025-12-31T23:30:00Z");
  EXPECT_EQ(utc("2026-12-31T23:30:00-01:00"), "2027-01-01T00:30:00Z");
  EXPECT_EQ(utc("2026-12-01T06:05:36-00:00"), "2026-12-01T06:05:36Z");
  // RFC 3339, section 5.8: the same leap second.
  EXPECT_EQ(utc("1990-12-31T23:59:60Z"), "1990-12-31T23:59:60Z");
  EXPECT_EQ(utc("1990-12-31T15:59:60-08:00"), "1990-12-31T23:59:60Z");
}

TEST(NormaliseTest, TimestampsOfAnotherFormAreRefused) {
  const auto policy = rules("at", {FieldRule::timestamp});
  for (const char* wrong :
       {"2026-12-01T06:05:36", "2026-12-01 06:05:36Z", "2026-12-01T06:05Z", "2026-12-01T24:00:00Z",
        "2026-12-01T06:60:00Z", "2026-12-01T06:05:61Z", "2026-12-01T06:05:60Z",
        "2026-12-01T06:05:36.Z", "2026-12-01T06:05:36+0300", "2026-12-01T06:05:36+24:00",
        "2026-02-30T06:05:36Z", "2026-12-01", "0000-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01", "2026-12-01T06:05:36ZZ", "1796105136"}) {
    EXPECT_TRUE(refusal({{"at", wrong}}, policy).starts_with("at: a timestamp is RFC 3339"))
        << wrong;
  }
  EXPECT_TRUE(refusal({{"at", 1796105136}}, policy).starts_with("at: a timestamp"));
}

TEST(NormaliseTest, NullIsAbsentOnlyWhereThePolicySaysSo) {
  const auto policy = rules("note", {FieldRule::absent_if_null});
  EXPECT_EQ(normal({{"note", nullptr}, {"other", nullptr}}, policy), Json({{"other", nullptr}}));
  EXPECT_EQ(normal({{"note", ""}}, policy), Json({{"note", ""}}));
}

TEST(NormaliseTest, TrimTakesTheOuterWhiteSpace) {
  const auto policy = rules("note", {FieldRule::trim});
  EXPECT_EQ(normal({{"note", " \t a  b\r\n"}}, policy)["note"], "a  b");
  EXPECT_EQ(normal({{"note", "   "}}, policy)["note"], "");
  EXPECT_TRUE(refusal({{"note", 1}}, policy).starts_with("note: only a text can be trimmed"));
  EXPECT_NE(refusal({{"note", nullptr}}, policy).find("add absent_if_null"), std::string::npos);
}

TEST(NormaliseTest, TrimComesBeforeTheOtherRules) {
  EXPECT_EQ(normal({{"c", " rub "}}, rules("c", {FieldRule::currency, FieldRule::trim}))["c"],
            "RUB");
}

TEST(NormaliseTest, IgnoredFieldsAreRemovedWhateverTheyHold) {
  EXPECT_EQ(normal({{"trace", Json::array({1.5})}, {"x", 1}}, rules("trace", {FieldRule::ignore})),
            Json({{"x", 1}}));
}

TEST(NormaliseTest, PathsReachIntoObjectsAndLists) {
  const auto currency = rules("amount.currency", {FieldRule::currency});
  EXPECT_EQ(normal({{"amount", {{"currency", "rub"}}}}, currency),
            Json({{"amount", {{"currency", "RUB"}}}}));
  const auto price = rules("items[].price", {FieldRule::minor_units});
  EXPECT_TRUE(refusal({{"items", {{{"price", 1}}, {{"price", 1.5}}}}}, price)
                  .starts_with("items[1].price: "));
  const auto list = rules("codes[]", {FieldRule::trim});
  EXPECT_EQ(normal({{"codes", {" a", "b "}}}, list), Json({{"codes", {"a", "b"}}}));
  EXPECT_TRUE(refusal({{"codes", {"a", 1}}}, list).starts_with("codes[1]: "));
  const auto dates = rules("a.b[][].on", {FieldRule::date});
  EXPECT_TRUE(refusal({{"a", {{"b", {Json::array({{{"on", "x"}}})}}}}}, dates)
                  .starts_with("a.b[0][0].on: "));
}

TEST(NormaliseTest, PathsThatLeadNowhereAreNoError) {
  const Json params = {{"amount", 5}, {"items", "none"}};
  for (const char* path : {"missing", "amount.currency", "items[].price", "items[]", "a.b.c", ""}) {
    EXPECT_EQ(normal(params, rules(path, {FieldRule::currency})), params) << path;
  }
}

TEST(NormaliseTest, ANameWithDotsIsFoundAsItStands) {
  EXPECT_EQ(normal({{"amount.currency", "rub"}}, rules("amount.currency", {FieldRule::currency})),
            Json({{"amount.currency", "RUB"}}));
}

TEST(NormaliseTest, OnlyObjectsHaveParameters) {
  EXPECT_EQ(refusal(Json::array(), ToolPolicy{}),
            "params: it must be an object of named parameters");
  EXPECT_EQ(refusal(nullptr, ToolPolicy{}), "params: it must be an object of named parameters");
}

}  // namespace
}  // namespace onceproof
