#include "reference/template.h"

#include <gtest/gtest.h>

namespace onceproof {
namespace {

const Json kScope = {{"external_id", "pay_1"},
                     {"operation_key", "op_1"},
                     {"params", {{"amount_minor", 490000}, {"to", {{"email", "a@b.c"}}}}},
                     {"result", {{"status", "ok"}}}};

std::string filled(const Json& value) {
  const auto result = fill_template(value, kScope);
  return result ? to_line(*result) : result.error().message;
}

TEST(TemplateTest, APlaceAloneKeepsItsType) {
  EXPECT_EQ(filled("${params.amount_minor}"), "490000");
  EXPECT_EQ(filled("${params.to}"), "{\"email\":\"a@b.c\"}");
  EXPECT_EQ(filled({{"a", {1, "${external_id}", nullptr}}}), "{\"a\":[1,\"pay_1\",null]}");
}

TEST(TemplateTest, InALongerTextItIsWritten) {
  EXPECT_EQ(fill_template("Payment ${external_id}: ${params.amount_minor} ($5, {x})", kScope),
            Json("Payment pay_1: 490000 ($5, {x})"));
  EXPECT_EQ(fill_template("${external_id}${operation_key}", kScope), Json("pay_1op_1"));
}

TEST(TemplateTest, WhatIsFilledInIsNotFilledAgain) {
  const Json scope = {{"external_id", "${operation_key}"}, {"operation_key", "op_1"}};
  EXPECT_EQ(fill_template("id ${external_id}", scope).value(), Json("id ${operation_key}"));
}

TEST(TemplateTest, WhatIsNotThereIsNamed) {
  EXPECT_EQ(filled("${params.to.name}"), "${params.to.name}: there is none");
  EXPECT_EQ(filled("x ${result.no}"), "${result.no}: there is none");
}

TEST(TemplateTest, AMistakeIsFoundBeforehand) {
  EXPECT_EQ(find_template_mistake({{"a", "${external_id} ${params.x} ${result.y} ${tenant}"}}),
            std::nullopt);
  for (const char* wrong : {"${external}", "${params.}", "${params}", "${", "a ${intent", "${}"}) {
    EXPECT_TRUE(find_template_mistake({{"a", {wrong}}}).has_value()) << wrong;
  }
  EXPECT_TRUE(template_uses_params({{"a", "x ${params.y}"}}));
  EXPECT_FALSE(template_uses_params({{"a", "x ${result.y}"}}));
}

}  // namespace
}  // namespace onceproof
