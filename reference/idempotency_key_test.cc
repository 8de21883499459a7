#include "reference/idempotency_key.h"

#include <gtest/gtest.h>

#include <vector>

namespace onceproof {
namespace {

Result<std::string> parse(std::vector<std::string> lines) {
  return parse_idempotency_key(lines);
}

std::string refused(std::vector<std::string> lines) {
  const auto key = parse(std::move(lines));
  EXPECT_FALSE(key) << *key;
  return key ? "taken" : key.error().message;
}

TEST(IdempotencyKeyTest, QuotedAndBareNameTheSameKey) {
  EXPECT_EQ(parse({"\"order-817\""}).value(), "order-817");
  EXPECT_EQ(parse({"order-817"}).value(), "order-817");
  EXPECT_EQ(parse({"  order-817 "}).value(), "order-817");
  EXPECT_EQ(parse({" \"order-817\"\t"}).value(), "order-817");
}

TEST(IdempotencyKeyTest, EscapesSpacesAndParametersAreThoseOfStructuredFields) {
  EXPECT_EQ(parse({R"("a\"b\\c")"}).value(), "a\"b\\c");
  EXPECT_EQ(parse({"\"two words, one key\""}).value(), "two words, one key");
  EXPECT_EQ(parse({"\"k\";v=1"}).value(), "k");
  EXPECT_EQ(parse({"\"K\""}).value(), "K");  // case counts
}

TEST(IdempotencyKeyTest, MissingIsNotWrong) {
  EXPECT_EQ(parse({}).error().code, ErrorCode::not_found);
  EXPECT_EQ(parse({""}).error().code, ErrorCode::invalid_argument);
}

TEST(IdempotencyKeyTest, TwoLinesOrAListAreRefused) {
  EXPECT_NE(refused({"a", "a"}).find("more than once"), std::string::npos);
  EXPECT_NE(refused({"a, b"}).find("list"), std::string::npos);
  EXPECT_NE(refused({"\"a\", \"b\""}).find("list"), std::string::npos);
}

TEST(IdempotencyKeyTest, WhatIsNoStringIsRefused) {
  EXPECT_NE(refused({"\"open"}).find("closing quote"), std::string::npos);
  EXPECT_NE(refused({R"("a\n")"}).find("backslash"), std::string::npos);
  EXPECT_NE(refused({"\"a\"b"}).find("behind"), std::string::npos);
  EXPECT_NE(refused({"two words"}).find("visible"), std::string::npos);
  EXPECT_NE(refused({"a\"b"}).find("visible"), std::string::npos);
  EXPECT_NE(refused({"\"ключ\""}).find("ASCII"), std::string::npos);
  EXPECT_NE(refused({"\"\""}).find("0 bytes"), std::string::npos);
  EXPECT_TRUE(parse({std::string(200, 'x')}));
  EXPECT_NE(refused({std::string(201, 'x')}).find("201 bytes"), std::string::npos);
}

}  // namespace
}  // namespace onceproof
