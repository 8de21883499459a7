#include "reference/request_hash.h"

#include <gtest/gtest.h>

#include "base/digest.h"

namespace onceproof {
namespace {

const Json kPayment = {{"order_id", "817"}, {"amount_minor", 490000}, {"currency", "RUB"}};

ToolPolicy payment_policy() {
  ToolPolicy policy;
  policy.fields = {{"amount_minor", {FieldRule::minor_units}},
                   {"currency", {FieldRule::currency}},
                   {"note", {FieldRule::absent_if_null, FieldRule::trim}},
                   {"trace_id", {FieldRule::ignore}}};
  return policy;
}

RequestHash hash_of(const Json& params, std::string_view salt = "op_1",
                    std::string_view action = "create_payment") {
  auto hash = make_request_hash(action, params, payment_policy(), 1, salt);
  EXPECT_TRUE(hash) << hash.error().message;
  return hash.value_or(RequestHash{});
}

Json with(Json params, const char* name, Json value) {
  params[name] = std::move(value);
  return params;
}

TEST(RequestHashTest, IsTheGuidesHashOfTheGuidesPayment) {
  EXPECT_EQ(hash_of(kPayment).hash,
            sha256_hex(R"({"action":"create_payment","amount_minor":490000,"currency":"RUB",)"
                       R"("order_id":"817"})"));
}

TEST(RequestHashTest, WhatMeansTheSameHasOneHash) {
  const auto hash = hash_of(kPayment).hash;
  EXPECT_EQ(
      hash_of(parse_json(R"({"currency":"RUB","order_id":"817","amount_minor":490000})").value())
          .hash,
      hash);
  EXPECT_EQ(hash_of(with(kPayment, "currency", "rub")).hash, hash);
  EXPECT_EQ(hash_of(with(kPayment, "trace_id", "abc")).hash, hash);
  EXPECT_EQ(hash_of(with(kPayment, "note", nullptr)).hash, hash);
  EXPECT_EQ(hash_of(with(kPayment, "note", " hi ")).hash,
            hash_of(with(kPayment, "note", "hi")).hash);
  EXPECT_EQ(hash_of(kPayment, "op_2").hash, hash);  // the salt is for the digests only
}

TEST(RequestHashTest, WhatMeansSomethingElseHasAnother) {
  const auto hash = hash_of(kPayment).hash;
  EXPECT_NE(hash_of(with(kPayment, "amount_minor", 490001)).hash, hash);
  EXPECT_NE(hash_of(with(kPayment, "order_id", 817)).hash, hash);  // a text is no number
  EXPECT_NE(hash_of(with(kPayment, "currency", "USD")).hash, hash);
  EXPECT_NE(hash_of(with(kPayment, "other", nullptr)).hash,
            hash);  // no rule says that null is absent
  EXPECT_NE(hash_of(with(kPayment, "note", "")).hash, hash);
  EXPECT_NE(hash_of(kPayment, "op_1", "refund_payment").hash, hash);
}

TEST(RequestHashTest, AParameterNamedActionDoesNotReplaceTheAction) {
  const auto plain = hash_of({{"x", 1}}, "op", "a").hash;
  EXPECT_NE(hash_of({{"x", 1}, {"action", "a"}}, "op", "b").hash, plain);
  EXPECT_NE(hash_of({{"x", 1}, {"action", "a"}}, "op", "a").hash, plain);
  EXPECT_NE(hash_of({{"params", {{"x", 1}}}}, "op", "a").hash, plain);
  EXPECT_NE(hash_of({{"params", {{"action", "z"}}}}, "op", "a").hash,
            hash_of({{"action", "z"}}, "op", "a").hash);
}

TEST(RequestHashTest, NormalisedAreTheParametersAsHashed) {
  const auto result = hash_of(with(with(kPayment, "currency", "rub"), "trace_id", "abc"));
  EXPECT_EQ(result.normalised, kPayment);
  EXPECT_FALSE(result.field_digests.contains("trace_id"));
}

TEST(RequestHashTest, DigestsNameTheFieldsThatDiffer) {
  const auto before = hash_of(kPayment).field_digests;
  EXPECT_EQ(before.size(), 3u);
  EXPECT_EQ(before.at("currency").size(), 16u);
  EXPECT_EQ(before.at("currency"), sha256_hex("op_1\n{\"currency\":\"RUB\"}").substr(0, 16));
  EXPECT_TRUE(
      differing_fields(before, hash_of(with(kPayment, "currency", "rub")).field_digests).empty());

  auto after = with(kPayment, "amount_minor", 490001);
  after["zz"] = 1;
  after.erase("order_id");
  EXPECT_EQ(differing_fields(before, hash_of(after).field_digests),
            (std::vector<std::string>{"amount_minor", "order_id", "zz"}));
  EXPECT_EQ(differing_fields({}, before),
            (std::vector<std::string>{"amount_minor", "currency", "order_id"}));
}

TEST(RequestHashTest, EqualValuesOfTwoOperationsHaveDifferentDigests) {
  EXPECT_NE(hash_of(kPayment, "op_1").field_digests.at("currency"),
            hash_of(kPayment, "op_2").field_digests.at("currency"));
}

TEST(RequestHashTest, ErrorsNameTheFieldAndNotItsValue) {
  const auto refusal = [](const Json& params) {
    const auto hash = make_request_hash("create_payment", params, payment_policy(), 1, "op_1");
    if (hash) return std::string("accepted");
    EXPECT_EQ(hash.error().code, ErrorCode::invalid_argument);
    return hash.error().message;
  };
  const auto message = refusal(with(kPayment, "amount_minor", 4900.5));
  EXPECT_TRUE(message.starts_with("amount_minor: an amount in minor units is a whole number"));
  EXPECT_EQ(message.find("4900.5"), std::string::npos);
  EXPECT_TRUE(refusal(with(kPayment, "items", {1, std::int64_t{1} << 60}))
                  .starts_with("items[1]: an integer beyond"));
  EXPECT_TRUE(
      refusal(with(kPayment, "memo", "\xff")).starts_with("memo: a text that is not UTF-8"));
  EXPECT_TRUE(refusal(Json::array({1})).starts_with("params: it must be an object"));
}

TEST(RequestHashTest, NestedIgnoredFieldsAreSentAsGiven) {
  const Json given{{"card", {{"blob", "b1"}, {"currency", "rub"}}},
                   {"lines", {{{"n", 1}, {"trace", "t1"}}, {{"n", 2}, {"trace", nullptr}}}},
                   {"note", nullptr}};
  ToolPolicy policy;
  policy.fields = {{"card.blob", {FieldRule::ignore}},
                   {"card.currency", {FieldRule::currency}},
                   {"lines[].trace", {FieldRule::ignore}},
                   {"note", {FieldRule::absent_if_null}}};
  const auto hash = make_request_hash("create_payment", given, policy, 1, "op_1").value();
  EXPECT_EQ(params_to_send(given, hash.normalised),
            (Json{{"card", {{"blob", "b1"}, {"currency", "RUB"}}},
                  {"lines", {{{"n", 1}, {"trace", "t1"}}, {{"n", 2}}}}}));
}

}  // namespace
}  // namespace onceproof
