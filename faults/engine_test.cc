#include "faults/engine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace onceproof::faults {
namespace {

Fault fault_at(Point at, std::uint32_t nth = 1, std::uint32_t times = 1) {
  Fault fault;
  fault.at = at;
  fault.on.nth = nth;
  fault.times = times;
  return fault;
}

RequestFacts facts(std::uint64_t request = 1) {
  RequestFacts result;
  result.service = "payments";
  result.route = "create";
  result.business_ref = "817";
  result.key = "op_1";
  result.worker = "w1";
  result.tenant = "t1";
  result.request = request;
  return result;
}

// Which of `visits` visits fire.
std::vector<int> firing_visits(Engine& engine, Point point, int visits) {
  std::vector<int> fired;
  for (int i = 1; i <= visits; ++i) {
    if (engine.visit(point, facts(static_cast<std::uint64_t>(i)))) fired.push_back(i);
  }
  return fired;
}

class EngineTest : public ::testing::Test {
 protected:
  VirtualClock clock_;
  Engine engine_{clock_};
};

TEST_F(EngineTest, FiresForExactlyTimesVisitsFromTheNth) {
  ASSERT_TRUE(engine_.arm(fault_at(Point::after_commit, 3, 2)).has_value());
  EXPECT_EQ(firing_visits(engine_, Point::after_commit, 10), (std::vector<int>{3, 4}));
  EXPECT_EQ(engine_.records()[0].visits, 10U);
}

TEST_F(EngineTest, OtherPointsAreNotVisits) {
  ASSERT_TRUE(engine_.arm(fault_at(Point::after_commit)).has_value());
  EXPECT_TRUE(firing_visits(engine_, Point::request_received, 3).empty());
  EXPECT_TRUE(firing_visits(engine_, Point::response_sent, 3).empty());
  EXPECT_EQ(engine_.records()[0].visits, 0U);
  EXPECT_EQ(firing_visits(engine_, Point::after_commit, 3), (std::vector<int>{1}));
}

TEST_F(EngineTest, EveryGivenFieldMustMatch) {
  struct Case {
    std::optional<std::string> Match::*field;
    std::string right;
  };
  for (const auto& [field, right] :
       {Case{&Match::service, "payments"}, Case{&Match::route, "create"},
        Case{&Match::business_ref, "817"}, Case{&Match::key, "op_1"}, Case{&Match::worker, "w1"},
        Case{&Match::tenant, "t1"}}) {
    engine_.reset();
    Fault fault = fault_at(Point::after_commit);
    fault.on.*field = "another";
    ASSERT_TRUE(engine_.arm(fault).has_value());
    EXPECT_FALSE(engine_.visit(Point::after_commit, facts()).has_value()) << right;
    fault.name.clear();
    fault.on.*field = right;
    ASSERT_TRUE(engine_.arm(fault).has_value());
    EXPECT_TRUE(engine_.visit(Point::after_commit, facts()).has_value()) << right;
  }
}

TEST_F(EngineTest, FirstArmedWinsAndEachMatchingFaultCountsTheVisit) {
  Fault first = fault_at(Point::after_commit, 2);
  first.name = "first";
  Fault second = fault_at(Point::after_commit, 2, 2);
  second.name = "second";
  ASSERT_TRUE(engine_.arm(first).has_value());
  ASSERT_TRUE(engine_.arm(second).has_value());
  EXPECT_FALSE(engine_.visit(Point::after_commit, facts()).has_value());
  EXPECT_EQ(engine_.visit(Point::after_commit, facts())->fault, "first");
  EXPECT_EQ(engine_.visit(Point::after_commit, facts())->fault, "second");
  EXPECT_FALSE(engine_.visit(Point::after_commit, facts()).has_value());
  for (const auto& record : engine_.records()) EXPECT_EQ(record.visits, 4U);
}

TEST_F(EngineTest, AFiringIsLoggedWithItsRequestAndTime) {
  Fault fault = fault_at(Point::after_commit);
  fault.action.kind = ActionKind::status;
  fault.action.status = 502;
  fault.action.body = "<html>";
  fault.name = "gateway";
  ASSERT_TRUE(engine_.arm(fault).has_value());
  clock_.advance(Milliseconds{70});
  const auto firing = engine_.visit(Point::after_commit, facts(42));
  ASSERT_TRUE(firing.has_value());
  EXPECT_EQ(firing->action.body, "<html>");
  const auto records = engine_.records();
  ASSERT_EQ(records[0].firings.size(), 1U);
  const Firing& logged = records[0].firings[0];
  EXPECT_EQ(logged.fault, "gateway");
  EXPECT_EQ(logged.request, 42U);
  EXPECT_EQ(logged.action.status, 502);
  EXPECT_EQ(logged.at - records[0].armed_at, Milliseconds{70});
}

TEST_F(EngineTest, HealReleasesWhatIsNotUsedUp) {
  ASSERT_TRUE(engine_.arm(fault_at(Point::after_commit)).has_value());
  ASSERT_TRUE(engine_.arm(fault_at(Point::after_commit, 2)).has_value());
  EXPECT_EQ(firing_visits(engine_, Point::after_commit, 1), (std::vector<int>{1}));
  engine_.heal();
  EXPECT_TRUE(firing_visits(engine_, Point::after_commit, 5).empty());
  EXPECT_FALSE(engine_.records()[0].released);
  EXPECT_TRUE(engine_.records()[1].released);
  ASSERT_TRUE(engine_.arm(fault_at(Point::after_commit)).has_value());
  EXPECT_EQ(firing_visits(engine_, Point::after_commit, 3), (std::vector<int>{1}));
}

TEST_F(EngineTest, NamesAreUniqueAndGivenIfMissing) {
  Fault named = fault_at(Point::after_commit);
  named.name = "fault-2";
  EXPECT_EQ(engine_.arm(named).value(), "fault-2");
  EXPECT_EQ(engine_.arm(fault_at(Point::after_commit)).value(), "fault-3");
  EXPECT_EQ(engine_.arm(fault_at(Point::after_commit)).value(), "fault-4");
  const auto again = engine_.arm(named);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, ErrorCode::already_exists);
  engine_.reset();
  EXPECT_TRUE(engine_.records().empty());
  EXPECT_EQ(engine_.arm(named).value(), "fault-2");
}

TEST_F(EngineTest, RefusesWhatMeansNothingAndMoreThanAThousand) {
  Fault senseless = fault_at(Point::response_sent);
  senseless.action.kind = ActionKind::hang;
  EXPECT_EQ(engine_.arm(senseless).error().code, ErrorCode::invalid_argument);
  for (int i = 0; i < 1'000; ++i)
    ASSERT_TRUE(engine_.arm(fault_at(Point::after_commit)).has_value());
  EXPECT_EQ(engine_.arm(fault_at(Point::after_commit)).error().code, ErrorCode::limit_exceeded);
}

TEST_F(EngineTest, AListIsArmedWholeOrNotAtAll) {
  Fault named = fault_at(Point::after_commit), senseless = fault_at(Point::response_sent);
  named.name = "twin";
  senseless.action.kind = ActionKind::hang;
  const auto twins = engine_.arm(std::vector<Fault>{fault_at(Point::after_commit), named, named});
  EXPECT_EQ(twins.error().code, ErrorCode::already_exists);
  EXPECT_NE(twins.error().message.find("fault 3 of 3"), std::string::npos);
  const auto wrong = engine_.arm(std::vector<Fault>{named, senseless});
  EXPECT_EQ(wrong.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(wrong.error().message.find("fault 2 of 2"), std::string::npos);
  const auto many = engine_.arm(std::vector<Fault>(1'001, fault_at(Point::after_commit)));
  EXPECT_EQ(many.error().code, ErrorCode::limit_exceeded);
  EXPECT_TRUE(engine_.records().empty());
  const auto right = engine_.arm(std::vector<Fault>{fault_at(Point::after_commit), named});
  EXPECT_EQ(right.value(), (std::vector<std::string>{"fault-1", "twin"}));
  EXPECT_EQ(engine_.records().size(), 2U);
}

TEST_F(EngineTest, ConcurrentVisitsAreCountedInOneOrder) {
  ASSERT_TRUE(engine_.arm(fault_at(Point::after_commit, 500, 100)).has_value());
  std::atomic<int> fired = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) {
          if (engine_.visit(Point::after_commit, facts())) ++fired;
        }
      });
    }
  }
  EXPECT_EQ(fired, 100);
  EXPECT_EQ(engine_.records()[0].visits, 2'000U);
  EXPECT_EQ(engine_.records()[0].firings.size(), 100U);
}

}  // namespace
}  // namespace onceproof::faults
