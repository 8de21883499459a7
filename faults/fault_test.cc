#include "faults/fault.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace onceproof::faults {
namespace {

Result<Fault> parse(std::string_view text) {
  const auto json = parse_json(text);
  EXPECT_TRUE(json.has_value()) << text;
  return fault_from_json(json.value_or(Json()));
}

std::string error_of(std::string_view text) {
  const auto fault = parse(text);
  if (fault) return "accepted: " + to_text(*fault);
  EXPECT_EQ(fault.error().code, ErrorCode::parse_failed);
  return fault.error().message;
}

TEST(FaultTest, EveryFieldSurvivesARoundTrip) {
  const std::string text =
      R"({"at":"after_commit","do":{"status":{"body":"<h1>","code":502,)"
      R"("content_type":"text/html"}},"name":"bad gateway","on":{"business_ref":"817","key":"op_1",)"
      R"("nth":2,"route":"create","service":"payments","worker":"w1"},"optional":true,"times":3})";
  const auto fault = parse(text);
  ASSERT_TRUE(fault.has_value()) << fault.error().message;
  EXPECT_EQ(to_line(to_json(*fault)), text);
  EXPECT_EQ(fault->on.nth, 2U);
  EXPECT_EQ(fault->action.body, "<h1>");
}

TEST(FaultTest, EachPointAndActionSurvivesARoundTrip) {
  for (const auto point : point_names()) {
    for (const std::string action : {R"("close")", R"("reset")", R"("hang")", R"("kill")",
                                     R"({"status":{"code":500}})", R"({"delay":"80ms"})"}) {
      const auto fault = parse(fmt::format(R"({{"at":"{}","do":{}}})", point, action));
      if (!fault) continue;  // CombinationsThatMeanNothingAreRefused says which
      const auto again = fault_from_json(to_json(*fault));
      ASSERT_TRUE(again.has_value()) << again.error().message;
      EXPECT_EQ(to_json(*again), to_json(*fault));
      EXPECT_EQ(to_text(fault->at), point);
    }
  }
}

TEST(FaultTest, DefaultsAreTheFirstVisitOnceAndNotOptional) {
  const auto fault = parse(R"({"at":"request_received","do":"close"})");
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->on.nth, 1U);
  EXPECT_EQ(fault->times, 1U);
  EXPECT_FALSE(fault->optional);
  EXPECT_EQ(fault->name, "");
  EXPECT_FALSE(fault->on.route.has_value());
}

TEST(FaultTest, TextSaysWhereWhichAndWhat) {
  EXPECT_EQ(to_text(*parse(R"({"at":"after_commit","on":{"service":"payments","route":"create",
                               "key":"K"},"do":"hang"})")),
            "payments.create@after_commit key=K 1*hang");
  EXPECT_EQ(to_text(*parse(R"({"at":"request_received","on":{"nth":2,"business_ref":"8\u001b[2J"},
                               "do":{"delay":"1.5s"},"times":4})")),
            R"(*.*@request_received business_ref="8\u001b[2J" nth=2 4*delay(1500ms))");
  EXPECT_EQ(to_text(*parse(R"({"at":"after_commit","do":{"status":{"code":502}}})")),
            "*.*@after_commit 1*status(502)");
}

TEST(FaultTest, ErrorsNameTheMemberAndWhatIsAllowed) {
  const auto says = [](std::string_view text, std::string_view part) {
    EXPECT_NE(error_of(text).find(part), std::string::npos) << text << "\n" << error_of(text);
  };
  says("[]", "must be an object");
  says(R"({"at":"after_commit"})", "'do' is missing; one of: close, reset, hang");
  says(R"({"do":"close"})", "'at' must be one of: connect, request_received");
  says(R"({"at":7,"do":"close"})", "'at' must be one of");
  says(R"({"at":"after_commit","do":"explode"})", "unknown action 'explode'; there are: close");
  says(R"({"at":"after_commit","do":"close","wen":1})", "unknown member 'wen'");
  says(R"({"at":"after_commit","do":"close","on":{"rout":"create"}})", "unknown member 'rout'");
  says(R"({"at":"after_commit","do":"close","on":7})", "'on' must be an object");
  says(R"({"at":"after_commit","do":"close","on":{"key":7}})", "on.key must be a text");
  says(R"({"at":"after_commit","do":"close","on":{"nth":0}})", "nth must be a whole number from 1");
  says(R"({"at":"after_commit","do":"close","times":1.5})", "times must be a whole number from 1");
  says(R"({"at":"after_commit","do":"close","optional":1})", "'optional' must be true or false");
  says(R"({"at":"after_commit","do":"close","name":1})", "'name' must be a text");
  says(R"({"at":"after_commit","do":"status"})", "needs more to say");
  says(R"({"at":"after_commit","do":{"delay":"80"}})", "do.delay.for: '80' is not a duration");
  says(R"({"at":"after_commit","do":{"delay":"0ms"}})", "must be a duration from 1ms to 1h");
  says(R"({"at":"after_commit","do":{"status":{"code":"502"}}})", "from 200 to 599");
  says(R"({"at":"after_commit","do":{"status":{"code":100}}})", "from 200 to 599");
  says(R"({"at":"after_commit","do":{"status":{"code":500,"body":7}}})",
       "do.status.body: must be a text");
  says(R"({"at":"after_commit","do":{"status":{"code":204,"body":"x"}}})", "a 204 has no body");
  says(R"({"at":"after_commit","do":{"status":{"code":500,"content_type":"a\r\nb: c"}}})",
       "one short line of ASCII");
  says(R"({"at":"after_commit","do":{"close":{},"reset":{}}})", "one member; one of: close");
}

TEST(FaultTest, CombinationsThatMeanNothingAreRefused) {
  for (const std::string action :
       {R"("hang")", R"({"status":{"code":500}})", R"({"delay":"80ms"})"}) {
    EXPECT_NE(error_of(R"({"at":"response_sent","do":)" + action + "}")
                  .find("at response_sent means nothing"),
              std::string::npos);
  }
  for (const std::string action : {"close", "reset", "kill"}) {
    EXPECT_TRUE(parse(R"({"at":"response_sent","do":")" + action + "\"}").has_value()) << action;
  }
}

TEST(FaultTest, HugeValuesAreRefused) {
  Fault fault;
  fault.on.key = std::string(1'001, 'k');
  EXPECT_EQ(check_fault(fault).error().code, ErrorCode::invalid_argument);
  fault = {};
  fault.action.kind = ActionKind::status;
  fault.action.status = 500;
  EXPECT_TRUE(check_fault(fault).has_value());
  fault.action.body = std::string((64 << 10) + 1, 'b');
  EXPECT_EQ(check_fault(fault).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace onceproof::faults
