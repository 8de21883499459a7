// Every action, seen by a client that is a socket alone, byte for byte; and what the ledger holds
// afterwards.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/guarded.h"
#include "fakes/host.h"
#include "net/raw_client.h"

namespace onceproof::fakes {
namespace {

using net::RawClient;
using End = RawClient::End;

constexpr std::string_view kBody =
    R"({"order_id":"817","amount_minor":490000,"currency":"RUB","reference":"op_1"})";

class FaultsTest : public ::testing::Test {
 protected:
  void start(const std::string& profile = "keyed") {
    HostOptions options;
    options.profile = find_profile(profile).value();
    options.pause_worker = [this](const std::string& worker, Milliseconds time) {
      paused_.lock()->emplace_back(worker, time);
    };
    auto host = Host::start(std::move(options), clock_);
    ASSERT_TRUE(host.has_value()) << host.error().message;
    host_ = std::move(*host);
  }
  void arm(std::string_view text) {
    auto fault = faults::fault_from_text(text);
    ASSERT_TRUE(fault.has_value()) << fault.error().message;
    ASSERT_TRUE(host_->faults().arm(std::move(*fault)).has_value());
  }
  RawClient::Heard pay(Milliseconds patience = Milliseconds{5'000}, const std::string& key = "k") {
    RawClient client(host_->port());
    (void)client.send(
        net::post("/w1/payments", kBody, "Connection: close\r\nIdempotency-Key: " + key + "\r\n"));
    return client.hear_all(patience);
  }
  RawClient::Heard look(const std::string& query = "idempotency_key=k") {
    RawClient client(host_->port());
    EXPECT_TRUE(client.send(net::get("/w1/payments?" + query, "Connection: close\r\n")));
    return client.hear_all();
  }
  std::size_t found(const RawClient::Heard& heard) {
    return parse_json(net::body_of(heard.bytes)).value_or(Json())["data"].size();
  }
  std::size_t effects() { return host_->effects()->size(); }
  WireEntry struck() {
    for (auto& entry : host_->wire_log().entries()) {
      if (!entry.fault.empty()) return entry;
    }
    return {};
  }
  // The fault struck once, and a request of the log says so.
  void expect_struck() {
    EXPECT_EQ(host_->faults().records().back().firings.size(), 1U);
    EXPECT_EQ(struck().fault, "fault-1");
    EXPECT_EQ(host_->faults().records().back().firings.at(0).request, struck().number);
  }
  // The reply that the fault would have cut: another order of the same length.
  std::string true_reply() {
    const auto heard = pay(Milliseconds{5'000}, "other");
    EXPECT_EQ(heard.end, End::fin);
    return heard.bytes;
  }

  RealClock clock_;
  Guarded<std::vector<std::pair<std::string, Milliseconds>>> paused_;
  std::unique_ptr<Host> host_;
};

TEST_F(FaultsTest, AtConnectNothingIsReadAndTheLogHasTheConnectionAlone) {
  for (const auto& [action, end] : {std::pair{"close", End::fin}, {"reset", End::reset}}) {
    start();
    arm(std::string("payments.*@connect nth=2 1*") + action);
    EXPECT_EQ(net::status_of(pay().bytes), 201);
    RawClient client(host_->port());
    const auto heard = client.hear_all();  // without having said a word
    EXPECT_EQ(heard.bytes, "");
    EXPECT_EQ(heard.end, end) << action;
    EXPECT_EQ(net::status_of(pay().bytes), 201);
    EXPECT_EQ(effects(), 1U);
    expect_struck();
    EXPECT_EQ(struck().route, "connect");
    EXPECT_EQ(struck().connection, 2U);
    EXPECT_EQ(host_->faults().records()[0].visits, 3U);
    EXPECT_EQ(host_->wire_log().size(), 3U);
  }
}

TEST_F(FaultsTest, HangAndDelayAtConnect) {
  start();
  arm("*.*@connect 1*hang");
  const auto silent = pay(Milliseconds{150});
  EXPECT_EQ(silent.bytes, "");
  EXPECT_EQ(silent.end, End::silence);
  EXPECT_EQ(effects(), 0U);
  expect_struck();
  arm("*.*@connect 1*delay(100ms)");
  const auto begin = clock_.monotonic();
  EXPECT_EQ(net::status_of(pay().bytes), 201);
  EXPECT_GE(clock_.monotonic() - begin, Milliseconds{100});
}

TEST_F(FaultsTest, BeforeTheCommitNothingIsDoneAndTheKeyIsFree) {
  for (const auto& [action, end] : {std::pair{"close", End::fin}, {"reset", End::reset}}) {
    start();
    arm(std::string("payments.create@before_commit 1*") + action);
    const auto heard = pay();
    EXPECT_EQ(heard.bytes, "");
    EXPECT_EQ(heard.end, end);
    EXPECT_EQ(effects(), 0U);
    expect_struck();
    EXPECT_EQ(net::status_of(pay().bytes), 201);  // not 409
    EXPECT_EQ(effects(), 1U);
  }
}

// A refused request and a replay have no commit, so they do not pass the point.
TEST_F(FaultsTest, BeforeCommitIsPassedByWritesAndLookupsAlone) {
  start();
  arm("*.*@before_commit nth=9 1*close");
  pay();
  pay();
  look();
  look("wrong=1");
  EXPECT_EQ(host_->faults().records()[0].visits, 2U);
}

TEST_F(FaultsTest, TruncateDeliversExactlySoManyBytes) {
  for (const std::size_t n : {1U, 8U, 100U}) {
    for (const auto& [then, end] : {std::pair{"", End::fin}, {", then=reset", End::reset}}) {
      start();
      arm(fmt::format("*.create@after_commit key=k 1*truncate({}B{})", n, then));
      const auto whole = true_reply();
      const auto heard = pay();
      EXPECT_EQ(heard.bytes, whole.substr(0, n));
      EXPECT_EQ(heard.end, end) << then;
      EXPECT_EQ(effects(), 2U);
      expect_struck();
      EXPECT_FALSE(struck().delivered);
    }
  }
}

TEST_F(FaultsTest, HalfOfTheBody) {
  start();
  arm("*.create@after_commit key=k 1*half_body");
  const auto whole = true_reply();
  const auto heard = pay();
  EXPECT_EQ(heard.bytes.size(), whole.size() - (net::body_of(whole).size() + 1) / 2);
  EXPECT_EQ(net::status_of(heard.bytes), 201);
  EXPECT_EQ(heard.end, End::fin);
  EXPECT_EQ(effects(), 2U);
}

TEST_F(FaultsTest, ADripBringsTheTrueReplyPieceByPiece) {
  start();
  arm("*.create@after_commit key=k 1*drip(50B, every=30ms)");
  const auto whole = true_reply();
  RawClient client(host_->port());
  ASSERT_TRUE(
      client.send(net::post("/w1/payments", kBody, "Connection: close\r\nIdempotency-Key: k\r\n")));
  const auto begin = clock_.monotonic();
  EXPECT_EQ(client.hear_at_most(10'000).size(), 50U);
  const auto rest = client.hear_all();
  EXPECT_EQ(rest.bytes.size(), whole.size() - 50);
  EXPECT_EQ(rest.end, End::fin);
  EXPECT_GE(clock_.monotonic() - begin, Milliseconds{30} * (whole.size() / 50));
  EXPECT_EQ(effects(), 2U);
  expect_struck();
  EXPECT_TRUE(struck().delivered);
}

TEST_F(FaultsTest, GarbageIsExactlyItsBytes) {
  for (const auto& [point, done] : {std::pair{"request_received", 0U}, {"after_commit", 1U}}) {
    start();
    arm(std::string("*.create@") + point + R"( garbage("\u0000\u0001 x\r\n"))");
    const auto heard = pay();
    EXPECT_EQ(heard.bytes, std::string("\0\1 x\r\n", 6));
    EXPECT_EQ(heard.end, End::fin);
    EXPECT_EQ(effects(), done);
    expect_struck();
  }
}

TEST_F(FaultsTest, ChunksThatBreak) {
  start();
  arm("*.create@after_commit key=k 1*bad_chunk");
  const auto body = net::body_of(true_reply());
  const auto bad = pay();
  EXPECT_EQ(net::status_of(bad.bytes), 201);
  EXPECT_NE(bad.bytes.find("Transfer-Encoding: chunked\r\n\r\n"), std::string::npos);
  EXPECT_EQ(bad.bytes.find("Content-Length"), std::string::npos);
  const auto half = net::body_of(bad.bytes);
  EXPECT_TRUE(half.starts_with(fmt::format("{:x}\r\n{{", body.size() / 2))) << half;
  EXPECT_TRUE(half.ends_with("\r\nno size\r\n")) << half;
  EXPECT_EQ(bad.end, End::fin);
  start();
  arm("*.create@after_commit 1*no_last_chunk");
  const auto open = pay();
  EXPECT_TRUE(open.bytes.ends_with("}\r\n")) << open.bytes;
  EXPECT_NE(open.bytes.find(fmt::format("\r\n\r\n{:x}\r\n", body.size())), std::string::npos);
  EXPECT_EQ(open.end, End::fin);
  EXPECT_EQ(effects(), 1U);
}

TEST_F(FaultsTest, WrongShapesAndRedirects) {
  start();
  arm("*.create@after_commit 1*wrong_shape");
  auto heard = pay();
  EXPECT_EQ(net::status_of(heard.bytes), 200);
  EXPECT_EQ(net::body_of(heard.bytes), R"({"result":null})");
  EXPECT_EQ(effects(), 1U);
  start();
  arm(R"(*.create@request_received 1*wrong_shape(""))");
  heard = pay();
  EXPECT_EQ(net::status_of(heard.bytes), 200);
  EXPECT_EQ(net::body_of(heard.bytes), "");
  EXPECT_EQ(effects(), 0U);
  start();
  arm("*.create@before_commit 1*redirect(self)");
  heard = pay();
  EXPECT_EQ(net::status_of(heard.bytes), 307);
  EXPECT_NE(heard.bytes.find("Location: /w1/payments\r\n"), std::string::npos) << heard.bytes;
  EXPECT_EQ(effects(), 0U);
  start();
  arm(R"(*.create@after_commit 1*redirect("http://127.0.0.1:1/x", code=302))");
  heard = pay();
  EXPECT_EQ(net::status_of(heard.bytes), 302);
  EXPECT_NE(heard.bytes.find("Location: http://127.0.0.1:1/x\r\n"), std::string::npos);
  EXPECT_EQ(effects(), 1U);
  start();
  arm("*.create@request_received 1*status(429, retry_after=2s)");
  heard = pay();
  EXPECT_EQ(net::status_of(heard.bytes), 429);
  EXPECT_NE(heard.bytes.find("Retry-After: 2\r\n"), std::string::npos);
  EXPECT_EQ(effects(), 0U);
}

TEST_F(FaultsTest, SlowCloseBringsTheReplyAtOnceAndItsEndLate) {
  start();
  arm("*.create@response_sent 1*slow_close(150ms)");
  RawClient client(host_->port());
  ASSERT_TRUE(client.send(net::post("/w1/payments", kBody)));
  EXPECT_TRUE(client.hear_reply().has_value());
  const auto begin = clock_.monotonic();
  const auto rest = client.hear_all();
  EXPECT_EQ(rest.bytes, "");
  EXPECT_EQ(rest.end, End::fin);
  EXPECT_GE(clock_.monotonic() - begin, Milliseconds{100});
  expect_struck();
  EXPECT_TRUE(struck().delivered);
}

TEST_F(FaultsTest, LookupsThatDoNotSeeWhatIsThere) {
  start();
  ASSERT_EQ(net::status_of(pay().bytes), 201);
  ASSERT_EQ(found(look()), 1U);
  for (const std::string action : {"not_found", "stale(1h)", "truncated_page(0)"}) {
    host_->faults().reset();
    arm("payments.*@before_commit nth=1 1*" + action);
    const auto blind = look();
    EXPECT_EQ(net::status_of(blind.bytes), 200);
    EXPECT_EQ(found(blind), 0U) << action;
    EXPECT_EQ(blind.bytes.find("\"has_more\":true") != std::string::npos,
              action == "truncated_page(0)");
    EXPECT_EQ(found(look()), 1U) << action;
    EXPECT_EQ(host_->wire_log().entries().rbegin()[1].disposition, Disposition::not_found);
    EXPECT_FALSE(host_->wire_log().entries().rbegin()[1].delivered);
  }
  // A stale answer that is old enough has it; a write is no visit of a lookup's fault.
  host_->faults().reset();
  arm("payments.*@before_commit 1*stale(1ms)");
  clock_.wait_for(Milliseconds{5});
  EXPECT_EQ(net::status_of(pay(Milliseconds{5'000}, "k2").bytes), 201);
  EXPECT_EQ(host_->faults().records()[0].visits, 0U);
  EXPECT_EQ(found(look()), 1U);
}

TEST_F(FaultsTest, CommitLaterHangsOrAnswersAndCommitsAfterwards) {
  start();
  arm("*.create@before_commit 1*commit_later(200ms)");
  EXPECT_EQ(pay(Milliseconds{80}).end, End::silence);  // and the client leaves
  EXPECT_EQ(effects(), 0U);
  EXPECT_EQ(net::status_of(pay(Milliseconds{50}).bytes), 409);  // in flight
  clock_.wait_for(Milliseconds{250});
  EXPECT_EQ(effects(), 1U);
  EXPECT_EQ(net::status_of(pay().bytes), 201);  // its own answer, kept
  EXPECT_EQ(effects(), 1U);
  start("blind");
  arm("*.create@before_commit 1*commit_later(200ms, answer=504)");
  RawClient client(host_->port());
  ASSERT_TRUE(client.send(net::post("/w1/payments", kBody)));
  EXPECT_EQ(net::status_of(client.hear_reply().value_or("")), 504);
  EXPECT_EQ(effects(), 0U);
  EXPECT_EQ(client.hear_all().end, End::fin);
  EXPECT_EQ(effects(), 1U);
  expect_struck();
}

TEST_F(FaultsTest, PartialCommitsTheFirstAndKeepsNoKey) {
  start();
  arm("*.create@before_commit 1*partial(0)");
  EXPECT_EQ(net::status_of(pay().bytes), 500);
  EXPECT_EQ(effects(), 0U);
  EXPECT_EQ(net::status_of(pay().bytes), 201);
  host_->faults().reset();
  arm("*.create@before_commit 1*partial(1, answer=503)");
  EXPECT_EQ(net::status_of(pay(Milliseconds{5'000}, "k2").bytes), 503);
  EXPECT_EQ(effects(), 2U);
  EXPECT_EQ(net::status_of(pay(Milliseconds{5'000}, "k2").bytes), 201);  // not a replay
  EXPECT_EQ(effects(), 3U);
}

TEST_F(FaultsTest, WhatTheProviderRemembersOfAKey) {
  start();
  arm("*.create@after_commit 1*forget_key");
  EXPECT_EQ(pay().end, End::reset);
  EXPECT_EQ(effects(), 1U);
  EXPECT_EQ(net::status_of(pay().bytes), 201);
  EXPECT_EQ(effects(), 2U);  // done again
  expect_struck();
  start();
  arm(R"(*.create@before_commit 1*keep_error(503, body="{}"))");
  for (int i = 0; i < 2; ++i) {
    const auto heard = pay();
    EXPECT_EQ(net::status_of(heard.bytes), 503);
    EXPECT_EQ(net::body_of(heard.bytes), "{}");
    EXPECT_EQ(heard.bytes.find("Idempotent-Replayed") != std::string::npos, i == 1);
  }
  EXPECT_EQ(effects(), 0U);
  start();
  arm("*.create@before_commit 1*in_flight_for_ever");
  EXPECT_EQ(pay().end, End::reset);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(net::status_of(pay().bytes), 409);
  EXPECT_EQ(effects(), 0U);
  ASSERT_TRUE(host_->reset().has_value());
  EXPECT_EQ(net::status_of(pay().bytes), 201);
}

// To a provider that remembers no key these faults mean nothing: the request passes unseen.
TEST_F(FaultsTest, WithoutKeyDedupThereIsNothingToForget) {
  start("blind");
  arm("*.create@after_commit 1*forget_key");
  EXPECT_EQ(net::status_of(pay().bytes), 201);
  EXPECT_EQ(host_->faults().records()[0].visits, 0U);
}

TEST_F(FaultsTest, AfterTheFirstByteTheRestIsLostOrLate) {
  for (const auto& [action, end] :
       {std::pair{"close", End::fin}, {"reset", End::reset}, {"hang", End::silence}}) {
    start();
    arm(std::string("*.create@response_first_byte 1*") + action);
    const auto heard = pay(Milliseconds{150});
    EXPECT_EQ(heard.bytes, "H");
    EXPECT_EQ(heard.end, end) << action;
    EXPECT_EQ(effects(), 1U);
    expect_struck();
    EXPECT_FALSE(struck().delivered);
    EXPECT_EQ(net::status_of(pay().bytes), 201);
    EXPECT_EQ(host_->faults().records()[0].visits, 2U);
  }
  start();
  arm("*.create@response_first_byte 1*delay(100ms)");
  RawClient client(host_->port());
  ASSERT_TRUE(client.send(net::post("/w1/payments", kBody, "Connection: close\r\n")));
  EXPECT_EQ(client.hear_at_most(10'000), "H");
  const auto begin = clock_.monotonic();
  const auto rest = client.hear_all();
  EXPECT_GE(clock_.monotonic() - begin, Milliseconds{60});
  EXPECT_EQ(net::status_of("H" + rest.bytes), 201);
  EXPECT_EQ(rest.end, End::fin);
  EXPECT_TRUE(struck().delivered);
}

TEST_F(FaultsTest, PauseStopsTheWorkerAndTheTrueAnswerComes) {
  start();
  arm("*.create@after_commit 1*pause(80ms)");
  EXPECT_EQ(net::status_of(pay().bytes), 201);
  const auto paused = *paused_.lock();
  ASSERT_EQ(paused.size(), 1U);
  EXPECT_EQ(paused[0], (std::pair<std::string, Milliseconds>{"w1", 80}));
}

}  // namespace
}  // namespace onceproof::fakes
