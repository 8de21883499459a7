#include "proxy/rule.h"

#include <gtest/gtest.h>

namespace onceproof::proxy {
namespace {

TEST(RuleTest, APatternIsAMethodAndAPath) {
  const auto pattern = parse_pattern("POST /payments/*");
  ASSERT_TRUE(pattern.has_value());
  EXPECT_TRUE(pattern->matches("POST", "/payments/17/refunds"));
  EXPECT_FALSE(pattern->matches("GET", "/payments/17"));
  EXPECT_FALSE(pattern->matches("POST", "/payments"));
  for (const char* wrong : {"", "POST", "POST payments", "POST /a /b"}) {
    EXPECT_FALSE(parse_pattern(wrong).has_value()) << wrong;
  }
}

TEST(RuleTest, ARequestIsCalledByItsFirstRouteOrByItself) {
  const std::vector<Route> routes{*parse_route("create=POST /payments"),
                                  *parse_route("any=* /payments*")};
  EXPECT_EQ(route_of(routes, "POST", "/payments"), "create");
  EXPECT_EQ(route_of(routes, "GET", "/payments/1"), "any");
  EXPECT_EQ(route_of(routes, "GET", "/x"), "GET /x");
  EXPECT_FALSE(parse_route("POST /payments").has_value());
  EXPECT_FALSE(parse_route("=POST /payments").has_value());
}

TEST(RuleTest, ARuleHitsFromTheNthForSoManyTimes) {
  RuleCounter rules({*parse_rule("POST /p nth=2 times=2", false)});
  const auto hit = [&](std::string_view method = "POST") {
    return rules.visit(method, "/p", "k").has_value();
  };
  EXPECT_FALSE(hit());
  EXPECT_FALSE(hit("GET"));
  EXPECT_TRUE(hit());
  EXPECT_TRUE(hit());
  EXPECT_FALSE(hit());
}

TEST(RuleTest, AKeySelectsAndEveryMatchingRuleCounts) {
  RuleCounter rules({*parse_rule("* /p key=k1", false), *parse_rule("* /p nth=2", false)});
  EXPECT_TRUE(rules.visit("POST", "/p", "k1").has_value());  // the second rule counted it too
  const auto second = rules.visit("POST", "/p", "k2");
  ASSERT_TRUE(second.has_value());
  EXPECT_FALSE(second->key.has_value());
}

TEST(RuleTest, WhatIsWrongIsNamed) {
  const auto message = [](std::string_view text, bool at) {
    const auto rule = parse_rule(text, at);
    return rule ? std::string("fine") : rule.error().message;
  };
  EXPECT_NE(message("POST /p nth=0", false).find("nth"), std::string::npos);
  EXPECT_NE(message("POST /p often", false).find("'often'"), std::string::npos);
  EXPECT_NE(message("POST /p", true).find("at=BYTES"), std::string::npos);
  EXPECT_NE(message("POST /p at=3", false).find("at=BYTES"), std::string::npos);
  EXPECT_EQ(message("POST /p at=0", true), "fine");
}

}  // namespace
}  // namespace onceproof::proxy
