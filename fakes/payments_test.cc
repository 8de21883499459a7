// The fake payment provider over real sockets: each promise of each profile, each refusal, each
// fault point.
#include "fakes/payments.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/guarded.h"
#include "fakes/host.h"
#include "net/raw_client.h"

namespace onceproof::fakes {
namespace {

using net::RawClient;

using End = RawClient::End;

constexpr std::string_view kBody =
    R"({"order_id":"817","amount_minor":490000,"currency":"RUB","reference":"op_1"})";
constexpr std::string_view kOther =
    R"({"order_id":"817","amount_minor":490001,"currency":"RUB","reference":"op_1"})";

class PaymentsTest : public ::testing::Test {
 protected:
  void start(const std::string& profile, Milliseconds index_delay = Milliseconds{0}) {
    HostOptions options;
    options.profile = find_profile(profile).value();
    if (index_delay > Milliseconds{0}) options.profile.index_delay = index_delay;
    options.kill_worker = [this](const std::string& worker) { killed_.lock()->push_back(worker); };
    auto host = Host::start(std::move(options), clock_);
    ASSERT_TRUE(host.has_value()) << host.error().message;
    host_ = std::move(*host);
  }

  std::string pay(std::string_view body, const std::string& key = "op_1") {
    RawClient client(host_->port());
    const auto header = key.empty() ? "" : "Idempotency-Key: " + key + "\r\n";
    EXPECT_TRUE(client.send(net::post("/w1/payments", body, header)));
    return client.hear_reply().value_or("");
  }
  std::string ask(const std::string& target) {
    RawClient client(host_->port());
    EXPECT_TRUE(client.send(net::get("/w1" + target)));
    return client.hear_reply().value_or("");
  }
  static int status(const std::string& reply) { return net::status_of(reply); }
  static Json body(const std::string& reply) {
    return parse_json(net::body_of(reply)).value_or(Json());
  }
  static std::string code(const std::string& reply) {
    return find_string(body(reply)["error"], "code").value_or("");
  }
  std::size_t effects() { return host_->effects()->size(); }
  WireEntry last_entry() { return host_->wire_log().entries().back(); }

  void arm(const std::string& json) {
    const auto fault = faults::fault_from_json(parse_json(json).value());
    ASSERT_TRUE(fault.has_value()) << fault.error().message;
    ASSERT_TRUE(host_->faults().arm(*fault).has_value());
  }

  RealClock clock_;
  Guarded<std::vector<std::string>> killed_;
  std::unique_ptr<Host> host_;
};

TEST_F(PaymentsTest, KeyedReplaysTheFirstAnswerWithAMarker) {
  start("keyed");
  const auto first = pay(kBody), again = pay(kBody);
  EXPECT_EQ(status(first), 201);
  EXPECT_EQ(status(again), 201);
  EXPECT_EQ(body(first), body(again));
  EXPECT_EQ(first.find("Idempotent-Replayed"), std::string::npos);
  EXPECT_NE(again.find("Idempotent-Replayed: true"), std::string::npos);
  EXPECT_EQ(effects(), 1U);
  EXPECT_EQ(last_entry().disposition, Disposition::replayed);
  EXPECT_EQ(last_entry().effect_ids, std::vector<std::string>{"pay_000001"});
}

TEST_F(PaymentsTest, KeyedRefusesAnotherBodyUnderTheKey) {
  start("keyed");
  pay(kBody);
  const auto other = pay(kOther);
  EXPECT_EQ(status(other), 422);
  EXPECT_EQ(code(other), "idempotency_mismatch");
  EXPECT_EQ(effects(), 1U);
}

TEST_F(PaymentsTest, KeyedForgetsAKeyAfterItsWindow) {
  HostOptions options;
  options.profile = find_profile("keyed").value();
  options.profile.dedup_window = Milliseconds{1};
  auto host = Host::start(std::move(options), clock_);
  ASSERT_TRUE(host.has_value());
  host_ = std::move(*host);
  pay(kBody);
  clock_.wait_for(Milliseconds{5});
  EXPECT_EQ(status(pay(kBody)), 201);
  EXPECT_EQ(effects(), 2U);
}

TEST_F(PaymentsTest, KeyedAnswersInFlightWhileTheFirstIsUnderWay) {
  start("keyed");
  arm(R"({"at":"request_received","on":{"route":"create"},"do":{"delay":"300ms"}})");
  std::jthread first([this] { EXPECT_EQ(status(pay(kBody)), 201); });
  while (host_->wire_log().size() == 0) clock_.wait_for(Milliseconds{1});
  const auto second = pay(kBody);
  EXPECT_EQ(status(second), 409);
  EXPECT_EQ(code(second), "idempotency_in_flight");
  EXPECT_EQ(code(pay(kOther)), "idempotency_mismatch")
      << "a real conflict must not look like later";
  first.join();
  EXPECT_EQ(effects(), 1U);
}

TEST_F(PaymentsTest, KeyedMakesOneEffectOfManyConcurrentRequests) {
  start("keyed");
  std::atomic<int> created = 0;
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 8; ++i) {
      clients.emplace_back([&] {
        for (int k = 0; k < 20; ++k) {
          if (status(pay(kBody, "op_" + std::to_string(k))) == 201) ++created;
        }
      });
    }
  }
  EXPECT_EQ(effects(), 20U);
  EXPECT_GE(created, 20);
}

TEST_F(PaymentsTest, KeyedKeepsARefusalOfTheBusinessButNotOfTheForm) {
  start("keyed");
  const std::string declined =
      R"({"order_id":"817","amount_minor":1,"currency":"RUB","payment_method":"card_declined"})";
  EXPECT_EQ(status(pay(declined)), 402);
  EXPECT_EQ(status(pay(declined)), 402);
  EXPECT_EQ(last_entry().disposition, Disposition::replayed);
  EXPECT_EQ(status(pay("{}", "op_2")), 422);
  EXPECT_EQ(status(pay(kBody, "op_2")), 201);
}

TEST_F(PaymentsTest, KeyedFindsByKeyAtOnceAndById) {
  start("keyed");
  const auto absent = ask("/payments?idempotency_key=op_1");
  EXPECT_EQ(status(absent), 200);
  EXPECT_TRUE(body(absent)["data"].empty());
  pay(kBody);
  const auto found = body(ask("/payments?idempotency_key=op_1"));
  ASSERT_EQ(found["data"].size(), 1U);
  EXPECT_EQ(found["data"][0]["id"], "pay_000001");
  EXPECT_EQ(found["has_more"], false);
  EXPECT_EQ(body(ask("/payments/pay_000001")), found["data"][0]);
  EXPECT_EQ(status(ask("/payments/pay_000009")), 404);
  EXPECT_EQ(last_entry().route, "get");
}

TEST_F(PaymentsTest, SearchableDoesNotDeduplicateAndFindsByReference) {
  start("searchable");
  pay(kBody);
  pay(kBody);
  EXPECT_EQ(effects(), 2U);
  EXPECT_EQ(body(ask("/payments?reference=op_1"))["data"].size(), 2U);
  EXPECT_EQ(last_entry().business_ref, "817") << "the log knows whom a lookup is about";
  EXPECT_EQ(status(ask("/payments?idempotency_key=op_1")), 400);
}

TEST_F(PaymentsTest, DelayedIndexShowsAnEffectOnlyAfterItsDelay) {
  start("delayed-index", Milliseconds{150});
  const auto begun = clock_.monotonic();
  pay(kBody);
  int asked = 0;
  while (body(ask("/payments?reference=op_1"))["data"].empty()) {
    ++asked;
    ASSERT_LT(clock_.monotonic() - begun, Milliseconds{10'000});
  }
  EXPECT_GT(asked, 0);
  EXPECT_GE(clock_.monotonic() - begun, Milliseconds{150});
}

TEST_F(PaymentsTest, BlindCannotBeAsked) {
  start("blind");
  pay(kBody);
  pay(kBody);
  EXPECT_EQ(effects(), 2U);
  EXPECT_EQ(status(ask("/payments?reference=op_1")), 501);
  EXPECT_EQ(status(ask("/payments/pay_000001")), 501);
}

TEST_F(PaymentsTest, ARefusedFormCommitsNothing) {
  start("searchable");
  for (const char* wrong :
       {R"({"order_id":"","amount_minor":1,"currency":"RUB"})",
        R"({"order_id":"1","amount_minor":0,"currency":"RUB"})",
        R"({"order_id":"1","amount_minor":1.5,"currency":"RUB"})",
        R"({"order_id":"1","amount_minor":"1","currency":"RUB"})",
        R"({"order_id":"1","amount_minor":1,"currency":"rub"})",
        R"({"order_id":"1","amount_minor":1,"currency":"RUB","reference":7})", "[]"}) {
    const auto reply = pay(wrong);
    EXPECT_EQ(status(reply), 422) << wrong;
    EXPECT_EQ(code(reply), "validation_failed") << wrong;
  }
  EXPECT_EQ(code(pay("{\"order_id\":")), "invalid_json");
  EXPECT_EQ(code(pay(R"({"order_id":"1","order_id":"2","amount_minor":1,"currency":"RUB"})")),
            "invalid_json");
  EXPECT_EQ(status(ask("/nowhere")), 404);
  EXPECT_EQ(effects(), 0U);
}

TEST_F(PaymentsTest, WhatIsPromisedIsWhatTheProfileDoes) {
  for (const auto& profile : profiles()) {
    const Json told = guarantees_json(profile);
    EXPECT_EQ(told["key_dedup"].is_null(), !profile.key_dedup) << profile.name;
    EXPECT_EQ(told["lookup"].is_null(), profile.lookup == LookupBy::none) << profile.name;
    EXPECT_EQ(told["reference_field"], "reference");
  }
  EXPECT_FALSE(find_profile("keyd").has_value());
}

// Each action at each point: is the effect there, and what does the client see?
struct Strike {
  const char* point;
  const char* action;
  bool committed;
  int status;  // 0: none
  End end;
};

TEST_F(PaymentsTest, EachFaultStrikesExactlyAtItsPoint) {
  const Strike strikes[] = {
      {"request_received", R"("close")", false, 0, End::fin},
      {"request_received", R"("reset")", false, 0, End::reset},
      {"request_received", R"("hang")", false, 0, End::silence},
      {"request_received", R"("kill")", false, 0, End::fin},
      {"request_received", R"({"status":{"code":502,"body":"<html>"}})", false, 502, End::silence},
      {"after_commit", R"("close")", true, 0, End::fin},
      {"after_commit", R"("reset")", true, 0, End::reset},
      {"after_commit", R"("hang")", true, 0, End::silence},
      {"after_commit", R"("kill")", true, 0, End::fin},
      {"after_commit", R"({"status":{"code":502,"body":"<html>"}})", true, 502, End::silence},
      {"response_sent", R"("close")", true, 201, End::fin},
      {"response_sent", R"("reset")", true, 201, End::reset},
      {"response_sent", R"("kill")", true, 201, End::fin},
  };
  for (const auto& strike : strikes) {
    start("keyed");
    killed_.lock()->clear();
    const std::string what = std::string(strike.point) + " " + strike.action;
    arm(std::string(R"({"at":")") + strike.point + R"(","on":{"route":"create"},"do":)" +
        strike.action + "}");
    RawClient client(host_->port());
    ASSERT_TRUE(client.send(net::post("/w1/payments", kBody, "Idempotency-Key: op_1\r\n")));
    const auto heard = client.hear_all(Milliseconds{150});
    EXPECT_EQ(status(heard.bytes), strike.status) << what;
    EXPECT_EQ(heard.end, strike.end) << what;
    EXPECT_EQ(effects(), strike.committed ? 1U : 0U) << what;
    EXPECT_EQ(killed_.lock()->size(), what.find("kill") == std::string::npos ? 0U : 1U) << what;
    const auto entry = host_->wire_log().entries().at(0);
    EXPECT_EQ(entry.fault, "fault-1") << what;
    EXPECT_EQ(entry.delivered, strike.status == 201) << what;
    EXPECT_EQ(entry.worker, "w1");
    EXPECT_EQ(status(pay(kBody)), 201) << what << ": the key is free, or has its answer";
    EXPECT_EQ(effects(), 1U) << what;
  }
}

TEST_F(PaymentsTest, AStoppedFakeLeavesNoHangingClient) {
  start("keyed");
  arm(R"({"at":"after_commit","on":{"route":"create"},"do":"hang"})");
  arm(R"({"at":"request_received","on":{"route":"create","nth":2},"do":{"delay":"1h"}})");
  RawClient hanging(host_->port()), delayed(host_->port());
  ASSERT_TRUE(hanging.send(net::post("/payments", kBody)));
  while (effects() == 0) clock_.wait_for(Milliseconds{1});
  ASSERT_TRUE(delayed.send(net::post("/payments", kBody)));
  while (host_->wire_log().size() < 2) clock_.wait_for(Milliseconds{1});
  host_.reset();
  EXPECT_NE(hanging.hear_all().end, End::silence);
  EXPECT_NE(delayed.hear_all().end, End::silence);
}

}  // namespace
}  // namespace onceproof::fakes
