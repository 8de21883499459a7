#include "base/clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace onceproof {
namespace {

using namespace std::chrono_literals;

CivilTime at(std::int64_t ms) {
  return CivilTime{Milliseconds{ms}};
}

TEST(Rfc3339Test, WritesUtcWithMilliseconds) {
  EXPECT_EQ(to_rfc3339(at(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(to_rfc3339(at(1'796'105'136'123)), "2026-12-01T06:05:36.123Z");
  EXPECT_EQ(to_rfc3339(at(951'782'400'000)), "2000-02-29T00:00:00.000Z");
  EXPECT_EQ(to_rfc3339(at(253'402'300'799'999)), "9999-12-31T23:59:59.999Z");
}

TEST(Rfc3339Test, TimesBefore1970RoundDownNotTowardsZero) {
  EXPECT_EQ(to_rfc3339(at(-1)), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(to_rfc3339(at(-1000)), "1969-12-31T23:59:59.000Z");
}

TEST(DurationTest, IsToldInTheUnitThatPeopleWouldUse) {
  EXPECT_EQ(to_text(0ms), "0 ms");
  EXPECT_EQ(to_text(999ms), "999 ms");
  EXPECT_EQ(to_text(1000ms), "1 s");
  EXPECT_EQ(to_text(1500ms), "1.5 s");
  EXPECT_EQ(to_text(12'345ms), "12.3 s");
  EXPECT_EQ(to_text(60s), "1 min");
  EXPECT_EQ(to_text(15min), "15 min");
  EXPECT_EQ(to_text(90min), "1.5 h");
  EXPECT_EQ(to_text(24h), "24 h");
  EXPECT_EQ(to_text(20'000h), "20000 h");
}

TEST(DurationTest, IsParsedWithItsUnit) {
  EXPECT_EQ(parse_duration("250ms").value(), 250ms);
  EXPECT_EQ(parse_duration("1.5s").value(), 1500ms);
  EXPECT_EQ(parse_duration("2m").value(), 2min);
  EXPECT_EQ(parse_duration("1h").value(), 1h);
  EXPECT_EQ(parse_duration("0s").value(), 0ms);
}

TEST(DurationTest, IsRefusedWithoutUnitOrNumber) {
  for (const auto* text : {"", "250", "ms", ".", ".s", "1.2.3s", "-1s", "+1s", "1 s", " 1s", "1s ",
                           "1S", "1d", "1e3s", "0x10s", "nans", "infs"}) {
    const auto duration = parse_duration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_EQ(duration.error().code, ErrorCode::parse_failed);
    EXPECT_NE(duration.error().message.find("250ms, 1.5s, 2m, 1h"), std::string::npos);
  }
}

TEST(DurationTest, IsRefusedBeyondThirtyYears) {
  EXPECT_TRUE(parse_duration("1000000000s"));
  EXPECT_FALSE(parse_duration("1000000001s"));
  EXPECT_FALSE(parse_duration(std::string(400, '9') + "h"));
}

TEST(VirtualClockTest, StandsStillUntilItIsAdvanced) {
  VirtualClock clock(at(1000));
  EXPECT_EQ(clock.monotonic(), MonotonicTime{});
  EXPECT_EQ(clock.civil(), at(1000));
  clock.advance(250ms);
  EXPECT_EQ(clock.monotonic(), MonotonicTime{250ms});
  EXPECT_EQ(clock.civil(), at(1250));
}

TEST(VirtualClockTest, StartsIn2026) {
  EXPECT_EQ(to_rfc3339(VirtualClock().civil()), "2026-01-01T00:00:00.000Z");
}

TEST(VirtualClockTest, AWaitAdvancesItAtOnce) {
  VirtualClock clock;
  EXPECT_TRUE(clock.wait_for(24h));
  EXPECT_EQ(clock.monotonic(), MonotonicTime{24h});
}

TEST(VirtualClockTest, AWaitForThePastDoesNotTurnItBack) {
  VirtualClock clock;
  clock.advance(10s);
  EXPECT_TRUE(clock.wait_until(MonotonicTime{5s}, {}));
  EXPECT_EQ(clock.monotonic(), MonotonicTime{10s});
}

TEST(VirtualClockTest, AStoppedWaitDoesNotAdvanceIt) {
  VirtualClock clock;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(clock.wait_for(1h, stop.get_token()));
  EXPECT_EQ(clock.monotonic(), MonotonicTime{});
}

TEST(RealClockTest, MonotonicTimeDoesNotGoBack) {
  RealClock clock;
  auto last = clock.monotonic();
  for (int i = 0; i < 1000; ++i) {
    const auto now = clock.monotonic();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(RealClockTest, CivilTimeIsInMillisecondsSince1970) {
  EXPECT_GT(RealClock().civil(), at(1'735'689'600'000));  // 2025-01-01
  EXPECT_LT(RealClock().civil(),
            at(32'503'680'000'000));  // 3000-01-01: a clock in microseconds fails
}

TEST(RealClockTest, AWaitLastsAtLeastAsLongAsAsked) {
  RealClock clock;
  const auto before = clock.monotonic();
  EXPECT_TRUE(clock.wait_for(5ms));
  EXPECT_GE(clock.monotonic() - before, 5ms);
}

TEST(RealClockTest, AWaitForThePastReturnsAtOnce) {
  RealClock clock;
  EXPECT_TRUE(clock.wait_until(MonotonicTime{}, {}));
}

TEST(RealClockTest, AStopEndsAWait) {
  RealClock clock;
  std::stop_source stop;
  bool reached = true;
  std::jthread waiter([&] { reached = clock.wait_for(1h, stop.get_token()); });
  stop.request_stop();
  waiter.join();  // in an hour, if the stop were not heard: ctest's time-out
  EXPECT_FALSE(reached);
}

}  // namespace
}  // namespace onceproof
