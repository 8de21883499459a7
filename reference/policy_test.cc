#include "reference/policy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace onceproof {
namespace {

using namespace std::chrono_literals;

ToolPolicy read_tool(std::string_view json) {
  auto policy = policy_from_json({{"tool_policy", {{"act", parse_json(json).value()}}}});
  EXPECT_TRUE(policy) << policy.error().message;
  return policy ? policy->tools.at("act") : ToolPolicy{};
}

std::string tool_refusal(std::string_view json) {
  const auto policy = policy_from_json({{"tool_policy", {{"act", parse_json(json).value()}}}});
  if (policy) return "accepted";
  EXPECT_EQ(policy.error().code, ErrorCode::invalid_argument);
  const std::string_view prefix = "policy: tool_policy.act";
  EXPECT_TRUE(policy.error().message.starts_with(prefix)) << policy.error().message;
  return policy.error().message.substr(prefix.size());
}

std::string policy_refusal(std::string_view json) {
  const auto policy = policy_from_json({{"tool_policy", parse_json(json).value()}});
  return policy ? "accepted" : policy.error().message;
}

TEST(PolicyTest, ReadsFollowUpsAndVersionsOfRules) {
  const auto policy = policy_from_json({{"tool_policy", parse_json(R"({
      "pay":{"keep_params":"encrypted","hash_version":2,"fields":{"a":"trim"},
             "earlier_fields":{"1":{"a":"minor_units"}},
             "follow_ups":[{"step":"receipt","action":"mail","params":{"to":"${params.email}"}}]},
      "mail":{"keep_params":"encrypted"}})")
                                                            .value()}});
  ASSERT_TRUE(policy) << policy.error().message;
  const ToolPolicy& tool = policy->tools.at("pay");
  EXPECT_TRUE(tool.keep_params);
  ASSERT_EQ(tool.follow_ups.size(), 1U);
  EXPECT_EQ(tool.follow_ups[0].step, "receipt");
  EXPECT_EQ(tool.follow_ups[0].action, "mail");
  EXPECT_EQ(tool.follow_ups[0].params, (Json{{"to", "${params.email}"}}));
  EXPECT_EQ((*tool.find_fields(2).value()).at("a"), std::vector{FieldRule::trim});
  EXPECT_EQ((*tool.find_fields(1).value()).at("a"), std::vector{FieldRule::minor_units});
  EXPECT_EQ(tool.find_fields(3).error().code, ErrorCode::unsupported);
}

TEST(PolicyTest, RefusesFollowUpsThatCouldBeLostOrDoubled) {
  const auto with = [](std::string_view steps,
                       std::string_view more = R"("keep_params":"encrypted",)",
                       std::string_view mail = R"({"keep_params":"encrypted"})") {
    return policy_refusal(R"({"pay":{)" + std::string(more) + R"("follow_ups":)" +
                          std::string(steps) + R"(},"mail":)" + std::string(mail) + "}");
  };
  const std::string_view good = R"([{"step":"a","action":"mail","params":{}}])";
  EXPECT_EQ(with(good), "accepted");
  EXPECT_EQ(with(good, ""), "accepted");  // it needs no parameter of the payment
  const auto expect = [](const std::string& message, std::string_view part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(with(R"([{"step":"a","action":"mail","params":{"x":"${params.y}"}}])", ""),
         "keep_params: encrypted");
  expect(with(good, "", "{}"), "nobody repeats it but the reconciler");
  expect(with(R"([{"step":"a","action":"post","params":{}}])"), "tool_policy has no 'post'");
  expect(with(R"([{"step":"a/b","action":"mail","params":{}}])"), "a-z, 0-9");
  expect(
      with(
          R"([{"step":"a","action":"mail","params":{}},{"step":"a","action":"mail","params":{}}])"),
      "two steps of one name");
  expect(with(R"([{"step":"a","action":"mail","params":{"x":"${secret}"}}])"), "names nothing");
  expect(with(R"([{"step":"a","action":"mail","params":[]}])"), "it is a map");
  expect(with(R"([{"step":"a","action":"mail"}])"), "params");
  expect(policy_refusal(R"({"pay":{"earlier_fields":{"1":{}}}})"), "no earlier version");
  expect(policy_refusal(R"({"pay":{"keep_params":"plain"}})"), "keep_params");
}

TEST(PolicyTest, ReadsEveryMember) {
  const auto tool =
      read_tool(R"({"fields":{"amount_minor":["minor_units"],"note":["absent_if_null","trim"],
      "trace":"ignore"},"result_fields":["status","id"],"call_timeout_ms":250,"lease_ms":600,"unknown_after_ms":2000,
      "check_initial_ms":20,"check_max_ms":200,"max_attempts":3,"retry_horizon_ms":60000})");
  EXPECT_EQ(tool.fields.at("amount_minor"), std::vector{FieldRule::minor_units});
  EXPECT_EQ(tool.fields.at("note"), (std::vector{FieldRule::absent_if_null, FieldRule::trim}));
  EXPECT_EQ(tool.fields.at("trace"), std::vector{FieldRule::ignore});
  EXPECT_EQ(tool.result_fields, (std::vector<std::string>{"status", "id"}));
  EXPECT_EQ(tool.call_timeout, 250ms);
  EXPECT_EQ(tool.lease, 600ms);
  EXPECT_EQ(tool.unknown_after, 2s);
  EXPECT_EQ(tool.check_initial, 20ms);
  EXPECT_EQ(tool.check_max, 200ms);
  EXPECT_EQ(tool.max_attempts, 3);
  EXPECT_EQ(tool.retry_horizon, 60s);
}

TEST(PolicyTest, EveryMemberHasTheDocumentedDefault) {
  EXPECT_FALSE(ToolPolicy{}.keep_params);
  EXPECT_EQ(ToolPolicy{}.hash_version, 1);
  EXPECT_TRUE(ToolPolicy{}.earlier_fields.empty());
  EXPECT_TRUE(ToolPolicy{}.follow_ups.empty());
  for (const char* json : {"{}", "null"}) {
    const auto tool = read_tool(json);
    EXPECT_TRUE(tool.fields.empty());
    EXPECT_TRUE(tool.result_fields.empty());
    EXPECT_EQ(tool.call_timeout, 10s);
    EXPECT_EQ(tool.lease, 30s);
    EXPECT_EQ(tool.unknown_after, 15min);  // the guide's unknown_after_seconds: 900
    EXPECT_EQ(tool.check_initial, 1s);
    EXPECT_EQ(tool.check_max, 1min);
    EXPECT_EQ(tool.max_attempts, 10);
    EXPECT_EQ(tool.retry_horizon, 7 * 24h);
  }
}

TEST(PolicyTest, DurationsAreWrittenInThreeWays) {
  EXPECT_EQ(read_tool(R"({"unknown_after":"30m"})").unknown_after, 30min);
  EXPECT_EQ(read_tool(R"({"unknown_after_seconds":900})").unknown_after, 15min);
  EXPECT_EQ(read_tool(R"({"unknown_after_ms":5})").unknown_after, 5ms);
  EXPECT_NE(
      tool_refusal(R"({"unknown_after":"30m","unknown_after_seconds":1800})").find("written twice"),
      std::string::npos);
  EXPECT_NE(tool_refusal(R"({"unknown_after":900})").find("write a number and a unit"),
            std::string::npos);
  EXPECT_NE(tool_refusal(R"({"unknown_after":"0s"})").find("outside"), std::string::npos);
  EXPECT_NE(tool_refusal(R"({"lease_ms":9223372036854775807})").find("expected a whole number"),
            std::string::npos);
}

TEST(PolicyTest, TheGuidesMembersAreAcceptedWithTheValuesThatAreKept) {
  read_tool(
      R"({"operation_key":"required","retry":{"reuse_operation_key":true,"on_timeout":"reconcile_before_retry"},
      "terminal_states":["succeeded","failed_final"],"unknown_after_seconds":900,
      "on_unresolved":"require_human_review"})");
}

TEST(PolicyTest, OtherValuesOfTheGuidesMembersAreRefusedWithTheReason) {
  EXPECT_EQ(tool_refusal(R"({"operation_key":"optional"})"),
            ".operation_key: 'optional' is not offered; write 'required': without a key a repeat "
            "is another payment");
  EXPECT_TRUE(tool_refusal(R"({"retry":{"reuse_operation_key":false}})")
                  .starts_with(".retry.reuse_operation_key: 'false' is not offered"));
  EXPECT_TRUE(tool_refusal(R"({"retry":{"on_timeout":"retry"}})")
                  .starts_with(".retry.on_timeout: 'retry' is not offered"));
  EXPECT_TRUE(
      tool_refusal(R"({"retry":{"times":3}})").starts_with(".retry: unknown member 'times'"));
  EXPECT_TRUE(tool_refusal(R"({"on_unresolved":"retry"})")
                  .starts_with(".on_unresolved: 'retry' is not offered"));
  for (const char* states : {"[]", R"(["succeeded"])", R"(["succeeded","failed_final","unknown"])",
                             R"(["succeeded","succeeded"])"}) {
    EXPECT_TRUE(tool_refusal(fmt::format(R"({{"terminal_states":{}}})", states))
                    .starts_with(".terminal_states: there are exactly two"))
        << states;
  }
}

TEST(PolicyTest, TimesMustFitTogether) {
  EXPECT_TRUE(tool_refusal(R"({"call_timeout":"30s","lease":"30s"})")
                  .starts_with(": lease (30 s) must be longer than call_timeout (30 s)"));
  EXPECT_TRUE(
      tool_refusal(R"({"check_initial":"2m"})")
          .starts_with(": check_initial (2 min) must not be longer than check_max (1 min)"));
}

TEST(PolicyTest, FieldRulesAreChecked) {
  EXPECT_TRUE(
      tool_refusal(R"({"fields":{"a":["minor_unit"]}})")
          .starts_with(".fields.a[0]: 'minor_unit' is unknown; did you mean 'minor_units'?"));
  EXPECT_TRUE(tool_refusal(R"({"fields":{"a":["date","timestamp"]}})")
                  .starts_with(".fields.a: minor_units, currency, date and timestamp exclude"));
  EXPECT_TRUE(tool_refusal(R"({"fields":{"a":["ignore","trim"]}})")
                  .starts_with(".fields.a: an ignored field needs no other rule"));
  EXPECT_TRUE(tool_refusal(R"({"fields":["a"]})").starts_with(".fields: expected members"));
}

TEST(PolicyTest, UnknownMembersAreErrors) {
  EXPECT_EQ(tool_refusal(R"({"leas_ms":5})"),
            ": unknown member 'leas_ms'; did you mean 'lease_ms'?");
  EXPECT_TRUE(tool_refusal(R"({"max_attempts":0})")
                  .starts_with(".max_attempts: expected a whole number from 1 to 1000"));
  const auto policy = policy_from_json({{"tool_policies", Json::object()}});
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().message,
            "policy: unknown member 'tool_policies'; there are: tool_policy");
  EXPECT_FALSE(policy_from_json(Json::array()));
}

TEST(PolicyTest, FindToolNamesTheKnownActions) {
  const auto policy =
      policy_from_json(parse_json(R"({"tool_policy":{"pay":{},"mail":{}}})").value()).value();
  EXPECT_TRUE(policy.find_tool("pay"));
  const auto missing = policy.find_tool("pa\x1by");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(missing.error().message, "no policy for the action 'pa\\x1by'; there are: mail, pay");
  EXPECT_TRUE(policy_from_json(Json::object()).value().tools.empty());
}

TEST(PolicyTest, RuleNamesAreRead) {
  EXPECT_EQ(parse_field_rule("timestamp"), FieldRule::timestamp);
  EXPECT_EQ(parse_field_rule("Timestamp"), std::nullopt);
}

}  // namespace
}  // namespace onceproof
