#include "scenarios/timeline.h"

#include <gtest/gtest.h>

namespace onceproof::scenarios {
namespace {

MonotonicTime at(int ms) {
  return MonotonicTime{Milliseconds{ms}};
}

TEST(TimelineTest, IsInOrderOfTimeAndSafeToPrint) {
  History history;
  history.start = at(0);
  history.intents["A"] = {"A", "t1", "i", "create_payment", Json{{"a", 1}}, "817"};
  Exchange exchange;
  exchange.worker = "w1";
  exchange.intent = "A";
  exchange.changed = true;
  exchange.params = Json{{"a", 2}};
  exchange.sent_at = at(5);
  exchange.answered_at = at(30);
  exchange.answer = Answer{"conflict", "\x1b[31m", nullptr, "", nullptr};
  history.exchanges.push_back(exchange);
  history.processes.push_back({ProcessEvent::Kind::killed, "w1", at(20), "SIGKILL"});
  history.marks.push_back({"all faults end", at(10)});
  const auto events = make_timeline(history);
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(to_text(events[0], history.start),
            R"(  0.005 s  agent     submit A to w1 with other parameters: {"a":2})");
  EXPECT_EQ(to_text(events[1], history.start), "  0.010 s  runner    all faults end");
  EXPECT_EQ(to_text(events[2], history.start), "  0.020 s  process   w1 is killed: SIGKILL");
  EXPECT_EQ(to_text(events[3], history.start),
            R"(  0.030 s  executor  w1 answers conflict \x1b[31m)");
}

TEST(TimelineTest, PollsWithoutNewsAreLeftOut) {
  History history;
  history.intents["A"] = {"A", "t1", "i", "create_payment", Json::object(), "817"};
  for (int i = 0; i < 5; ++i) {
    Exchange status;
    status.kind = Exchange::Kind::status;
    status.intent = "A";
    status.sent_at = at(i);
    status.answered_at = at(i);
    status.answer = Answer{i < 3 ? "unknown" : "succeeded", "", nullptr, "", nullptr};
    history.exchanges.push_back(status);
    Exchange reconcile;
    reconcile.kind = Exchange::Kind::reconcile;
    reconcile.sent_at = at(i);
    reconcile.answered_at = at(i);
    history.exchanges.push_back(reconcile);
  }
  EXPECT_EQ(make_timeline(history).size(), 2U);
}

}  // namespace
}  // namespace onceproof::scenarios
