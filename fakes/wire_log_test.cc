#include "fakes/wire_log.h"

#include <gtest/gtest.h>

namespace onceproof::fakes {
namespace {

TEST(WireLogTest, NumbersFromOneAndPages) {
  WireLog log;
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(log.add({}), static_cast<std::uint64_t>(i));
  log.update(3, [](WireEntry& entry) { entry.status = 201; });
  const auto page = log.entries(2, 2);
  ASSERT_EQ(page.size(), 2U);
  EXPECT_EQ(page[0].number, 3U);
  EXPECT_EQ(page[0].status, 201);
  EXPECT_EQ(page[1].number, 4U);
  log.clear();
  EXPECT_EQ(log.size(), 0U);
  EXPECT_EQ(log.add({}), 1U);
}

TEST(WireLogTest, ForgetsTheOldestAndKeepsTheNumbers) {
  WireLog log;
  for (std::size_t i = 0; i < WireLog::kKept + 3; ++i) log.add({});
  EXPECT_EQ(log.entries().size(), WireLog::kKept);
  EXPECT_EQ(log.entries(0, 1).at(0).number, 4U);
  log.update(1, [](WireEntry&) { FAIL() << "it is gone"; });
  log.update(4, [](WireEntry& entry) { entry.status = 7; });
  EXPECT_EQ(log.entries(0, 1).at(0).status, 7);
}

TEST(WireLogTest, AsJsonTimesAreMillisecondsSinceTheStart) {
  WireEntry entry;
  entry.number = 1;
  entry.received_at = MonotonicTime{Milliseconds{1'250}};
  entry.disposition = Disposition::in_flight;
  const auto json = to_json(entry, MonotonicTime{Milliseconds{1'000}});
  EXPECT_EQ(json["received_at_ms"], 250.0);
  EXPECT_TRUE(json["responded_at_ms"].is_null());
  EXPECT_EQ(json["disposition"], "in_flight");
}

}  // namespace
}  // namespace onceproof::fakes
