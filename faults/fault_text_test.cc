// The text form: read and written, exact both ways, and the places of its errors.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "faults/fault.h"

namespace onceproof::faults {
namespace {

std::string again(std::string_view text) {
  const auto fault = fault_from_text(text);
  return fault ? to_text(*fault) : fault.error().message;
}

// Something for each parameter that is not what it is anyway.
void fill(Action& action, const Parameter& parameter) {
  struct Filler {
    Action& action;
    const Parameter& parameter;
    void operator()(int Action::*field) const { action.*field = static_cast<int>(parameter.most); }
    void operator()(std::uint32_t Action::*field) const {
      action.*field = static_cast<std::uint32_t>(parameter.most);
    }
    void operator()(std::uint64_t Action::*field) const {
      action.*field = static_cast<std::uint64_t>(parameter.most);
    }
    void operator()(Milliseconds Action::*field) const {
      action.*field = Milliseconds{parameter.most};
    }
    void operator()(std::string Action::*field) const {
      action.*field = parameter.words.empty() ? "a=\"b\", (c) \n" : parameter.words.back();
      if (field == &Action::content_type) action.*field = "text/html; charset=utf-8";
      if (field == &Action::location) action.*field = "http://127.0.0.1:1/a?b=c";
    }
  };
  std::visit(Filler{action, parameter}, parameter.field);
}

TEST(FaultTextTest, TheExamplesOfTheHeaderAreRead) {
  EXPECT_EQ(again("payments.create@after_commit key=K nth=1 2*close"),
            "payments.create@after_commit key=K 2*close");
  EXPECT_EQ(again("*.lookup@request_received 1*delay(80ms)"),
            "*.lookup@request_received 1*delay(80ms)");
  EXPECT_EQ(again(R"(emails.create@after_commit status(502, body="<html>", type="text/html"))"),
            R"(emails.create@after_commit 1*status(502, body="<html>", type="text/html"))");
  const auto fault = fault_from_text("payments.create@after_commit key=K nth=3 2*close").value();
  EXPECT_EQ(fault.on.service, "payments");
  EXPECT_EQ(fault.on.route, "create");
  EXPECT_EQ(fault.on.key, "K");
  EXPECT_EQ(fault.on.nth, 3U);
  EXPECT_EQ(fault.times, 2U);
  EXPECT_EQ(fault.action.kind, ActionKind::close);
}

// Every action at every point where it means something, bare and with every parameter.
TEST(FaultTextTest, EveryActionSurvivesTextAndJson) {
  int tried = 0;
  for (const auto& spec : action_specs()) {
    for (const auto point : spec.points) {
      for (const bool full : {false, true}) {
        Fault fault;
        fault.at = point;
        fault.action = spec.initial;
        for (const auto& parameter : spec.parameters) {
          if (full || parameter.required) fill(fault.action, parameter);
        }
        if (fault.action.kind == ActionKind::status) fault.action.duration = Milliseconds{2'000};
        ASSERT_TRUE(check_fault(fault).has_value()) << check_fault(fault).error().message;
        const auto from_text = fault_from_text(to_text(fault));
        ASSERT_TRUE(from_text.has_value()) << to_text(fault) << "\n" << from_text.error().message;
        EXPECT_EQ(*from_text, fault) << to_text(fault);
        const auto from_json = fault_from_json(to_json(fault));
        ASSERT_TRUE(from_json.has_value()) << to_json(fault) << from_json.error().message;
        EXPECT_EQ(*from_json, fault) << to_json(fault);
        ++tried;
      }
    }
  }
  EXPECT_GE(tried, 30);
}

// Every field of a match with texts that could be taken for something else.
TEST(FaultTextTest, EveryMatchSurvives) {
  for (const std::string value :
       {"create", "*", "", "a.b", "a@b", "POST /pay*", "nth=2", "\"", "\\", "a\x1b[2J", "é\u202e",
        "2*close", "(", "optional", "80ms", " "}) {
    for (const auto& [name, field] : match_fields()) {
      for (const bool all : {false, true}) {
        Fault fault;
        fault.on.*field = value;
        if (all) {
          for (const auto& other : match_fields()) fault.on.*(other.field) = value;
          fault.on.nth = 1'000'000;
          fault.times = 1'000'000;
          fault.optional = true;
          fault.name = value;
        }
        const auto text = to_text(fault);
        for (const char c : text) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << text;
        const auto read = fault_from_text(text);
        ASSERT_TRUE(read.has_value()) << text << "\n" << read.error().message;
        EXPECT_EQ(*read, fault) << text;
      }
    }
  }
}

TEST(FaultTextTest, ErrorsNameTheColumnAndWhatMayStandThere) {
  const auto says = [](std::string_view text, std::string_view part) {
    EXPECT_NE(again(text).find(part), std::string::npos) << text << "\n" << again(text);
  };
  says("", "column 1: the service (* for any) needs a value");
  says("payments", "column 9: expected '.', as in payments.create@after_commit");
  says("payments.create", "column 16: expected '@'");
  says("payments.create@after_comit close", "column 17: unknown point 'after_comit'; there are: ");
  says("*.*@after_commit", "column 17: the action is missing; one of: close, reset");
  says("*.*@after_commit explode", "column 18: unknown action or word 'explode'; actions: close");
  says("*.*@after_commit kee=K close", "column 18: unknown word 'kee='; there are: business_ref=");
  says("*.*@after_commit key=K key=K close", "column 24: key is said twice");
  says("*.*@after_commit nth=0 close", "column 22: nth is a whole number from 1 to 1000000");
  says("*.*@after_commit 0*close", "column 18: the number of strikes");
  says("*.*@after_commit 2close", "column 19: expected '*', as in 2*close");
  says("*.*@after_commit close close", "column 24: nothing may follow the action");
  says("*.*@after_commit close(1)", "column 24: write NAME=VALUE; parameters of close: none");
  says("*.*@after_commit delay", "column 18: delay needs its for");
  says("*.*@after_commit delay(80)", "column 24: delay.for: '80' is not a duration");
  says("*.*@after_commit delay(0ms)", "delay.for: must be a duration from 1ms to 1h");
  says("*.*@after_commit delay(80ms", "column 28: expected ','");
  says("*.*@after_commit status(99)", "column 25: status.code: must be a whole number from 200");
  says(
      "*.*@after_commit status(500, bdy=\"\")",
      "column 30: status has no parameter 'bdy'; there are: code, body, content_type, retry_after");
  says("*.*@after_commit status(500, body=5)", "column 35: status.body: must be a text");
  says("*.*@after_commit status(500, code=500)", "column 30: code is said twice");
  says("*.*@after_commit status(500, retry_after=\"1.5s\")", "whole seconds");
  says("*.*@after_commit key=\"K close", "column 22: this quote is not closed");
  says("*.*@after_commit key=\"\\ud800\" close", "column 22: this is no text as JSON writes it");
  says("*.*@after_commit key=(K) close", "column 22: key needs a value; write it in quotes");
  says("*.*@response_sent hang",
       "hang at response_sent means nothing; it can be at connect, request_rec");
  says(std::string(600'000, 'x'), "longer than 524288 bytes");
}

TEST(FaultTextTest, JsonTakesTheTextToo) {
  const auto fault = fault_from_json(Json{{"text", "payments.create@after_commit 2*close"}});
  ASSERT_TRUE(fault.has_value()) << fault.error().message;
  EXPECT_EQ(to_text(*fault), "payments.create@after_commit 2*close");
  EXPECT_FALSE(fault_from_json(Json{{"text", "payments"}}).has_value());
  EXPECT_FALSE(fault_from_json(Json{{"text", 7}}).has_value());
}

TEST(FaultTextTest, SizesHaveUnits) {
  EXPECT_EQ(parse_size("17B").value(), 17U);
  EXPECT_EQ(parse_size("4KiB").value(), 4'096U);
  EXPECT_EQ(parse_size("1MiB").value(), 1'048'576U);
  for (const std::string wrong : {"17", "B", "", "-1B", "1.5KiB", "1kb", "99999999999999999999B"}) {
    EXPECT_FALSE(parse_size(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace onceproof::faults
