#include "reference/guarantees.h"

#include <gtest/gtest.h>

namespace onceproof {
namespace {

using namespace std::chrono_literals;

Guarantees read(std::string_view json) {
  auto guarantees = guarantees_from_json(parse_json(json).value());
  EXPECT_TRUE(guarantees) << guarantees.error().message;
  return guarantees.value_or(Guarantees{});
}

std::string refusal(std::string_view json) {
  const auto guarantees = guarantees_from_json(parse_json(json).value());
  if (guarantees) return "accepted";
  EXPECT_EQ(guarantees.error().code, ErrorCode::invalid_argument);
  return guarantees.error().message;
}

TEST(GuaranteesTest, NothingIsPromisedByDefault) {
  for (const char* json : {"{}", R"({"key_dedup":null,"lookup":null,"no_effect":null})"}) {
    const auto guarantees = read(json);
    EXPECT_FALSE(guarantees.key_dedup);
    EXPECT_FALSE(guarantees.lookup);
    EXPECT_EQ(guarantees.reference_field, "reference");
    EXPECT_EQ(guarantees.max_in_flight, 0ms);
    EXPECT_TRUE(guarantees.no_effect.empty());
  }
}

TEST(GuaranteesTest, ReadsTheShapeOfTheSutProtocol) {
  const auto guarantees = read(R"({"key_dedup":{"header":"X-Key","window_ms":86400000},
     "lookup":{"by":"key","complete":true,"index_delay_ms":20},
     "reference_field":"ref","max_in_flight_ms":100,
     "no_effect":[{"status":400},{"status":422,"error":"validation_failed"}]})");
  ASSERT_TRUE(guarantees.key_dedup);
  EXPECT_EQ(guarantees.key_dedup->header, "X-Key");
  EXPECT_EQ(guarantees.key_dedup->window, 24h);
  ASSERT_TRUE(guarantees.lookup);
  EXPECT_EQ(guarantees.lookup->by, LookupBy::key);
  EXPECT_TRUE(guarantees.lookup->complete);
  EXPECT_EQ(guarantees.lookup->index_delay, 20ms);
  EXPECT_EQ(guarantees.reference_field, "ref");
  EXPECT_EQ(guarantees.max_in_flight, 100ms);
  ASSERT_EQ(guarantees.no_effect.size(), 2u);
  EXPECT_EQ(guarantees.no_effect[0].status, 400);
  EXPECT_EQ(guarantees.no_effect[1].error, "validation_failed");
}

TEST(GuaranteesTest, ALookupIsIncompleteAndByReferenceUnlessSaidOtherwise) {
  const auto guarantees = read(R"({"lookup":{}})");
  EXPECT_EQ(guarantees.lookup->by, LookupBy::reference);
  EXPECT_FALSE(guarantees.lookup->complete);
}

TEST(GuaranteesTest, DurationsMayHaveUnits) {
  EXPECT_EQ(read(R"({"key_dedup":{"window":"24h"},"max_in_flight":"1.5s"})").max_in_flight, 1500ms);
}

TEST(GuaranteesTest, AReferenceFieldCanBeNone) {
  EXPECT_EQ(read(R"({"reference_field":null})").reference_field, "");
  EXPECT_EQ(read(R"({"reference_field":""})").reference_field, "");
}

TEST(GuaranteesTest, MistakesAreNamedWithTheirPath) {
  EXPECT_EQ(refusal(R"({"lookups":{}})"),
            "guarantees: unknown member 'lookups'; did you mean 'lookup'?");
  EXPECT_EQ(refusal(R"({"lookup":{"by":"id"}})"),
            "guarantees: lookup.by: 'id' is none of: key, reference");
  EXPECT_TRUE(refusal(R"({"key_dedup":{}})")
                  .starts_with("guarantees: key_dedup: the member 'window' is missing"));
  EXPECT_TRUE(refusal(R"({"key_dedup":{"window":"5 days"}})")
                  .starts_with("guarantees: key_dedup.window: "));
  EXPECT_TRUE(
      refusal(R"({"key_dedup":{"window":"1h","window_ms":5}})")
          .starts_with("guarantees: key_dedup.window_ms: the same duration is written twice"));
  EXPECT_TRUE(refusal(R"({"key_dedup":{"window_ms":0}})")
                  .starts_with("guarantees: key_dedup.window_ms: 0 ms is outside"));
  EXPECT_TRUE(refusal(R"({"key_dedup":{"window_ms":1,"header":"A B"}})")
                  .starts_with("guarantees: key_dedup.header: "));
  EXPECT_TRUE(refusal(R"({"key_dedup":{"window_ms":1,"header":""}})")
                  .starts_with("guarantees: key_dedup.header: "));
  EXPECT_TRUE(refusal(R"({"max_in_flight_ms":-1})").starts_with("guarantees: max_in_flight_ms: "));
  EXPECT_TRUE(refusal(R"({"max_in_flight_ms":1.5})").starts_with("guarantees: max_in_flight_ms: "));
  EXPECT_TRUE(
      refusal(R"({"no_effect":[{"status":200}]})")
          .starts_with("guarantees: no_effect[0].status: expected a whole number from 400 to 599"));
  EXPECT_TRUE(refusal(R"({"no_effect":[{}]})")
                  .starts_with("guarantees: no_effect[0]: the member 'status' is missing"));
  EXPECT_TRUE(refusal(R"({"lookup":{"complete":"yes"}})")
                  .starts_with("guarantees: lookup.complete: expected true or false"));
  EXPECT_TRUE(refusal("[]").starts_with("guarantees: expected members"));
}

// It would find nothing, and nothing found is taken for proof.
TEST(GuaranteesTest, ALookupByWhatIsNeverSentIsRefused) {
  EXPECT_EQ(refusal(R"({"lookup":{"by":"key","complete":true}})"),
            "guarantees: lookup: a lookup by key needs key_dedup: without it no key is sent");
  EXPECT_TRUE(refusal(R"({"lookup":{"by":"reference"},"reference_field":null})")
                  .starts_with("guarantees: lookup: a lookup by reference needs reference_field"));
  EXPECT_TRUE(read(R"({"lookup":{"by":"key"},"key_dedup":{"window":"1h"}})").lookup);
}

}  // namespace
}  // namespace onceproof
