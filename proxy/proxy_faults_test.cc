// What the faults do at the proxy, seen from both ends.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "net/raw_client.h"
#include "proxy/admin.h"
#include "proxy/proxy.h"
#include "proxy/scripted_upstream.h"

namespace onceproof::proxy {
namespace {

using Peer = ScriptedUpstream::Peer;
using End = net::RawClient::End;

constexpr Milliseconds kShort{300};

class ProxyFaultsTest : public ProxyTest {
 protected:
  net::RawClient::Heard hear(const std::string& request, Milliseconds patience = kShort) {
    net::RawClient client(proxy_->port());
    EXPECT_TRUE(client.send(request));
    return client.hear_all(patience);
  }
};

TEST_F(ProxyFaultsTest, ALostRequestNeverReachesTheUpstream) {
  start(answer_posts(3));
  for (const auto& [action, end] : {std::pair{R"("close")", End::fin},
                                    {R"("reset")", End::reset},
                                    {R"("hang")", End::silence}}) {
    arm(fmt::format(R"({{"at":"request_received","do":{}}})", action).c_str());
    const auto heard = hear(net::post("/p", "abc"));
    EXPECT_EQ(heard.bytes, "") << action;
    EXPECT_EQ(heard.end, end) << action;
  }
  EXPECT_TRUE(upstream_->seen().empty());
  EXPECT_EQ(logged(1).fault, "fault-1");
  EXPECT_EQ(logged(1).body, "abc");  // it was read to its end first
  EXPECT_EQ(logged(1).upstream_status, 0);
  EXPECT_EQ(net::body_of(hear(net::post("/p", "abc")).bytes), "answer 1");  // used up
}

TEST_F(ProxyFaultsTest, ALostReplyIsOneWhoseWorkIsDone) {
  start(answer_posts(3));
  std::size_t done = 0;
  for (const auto& [action, end] : {std::pair{R"("close")", End::fin},
                                    {R"("reset")", End::reset},
                                    {R"("hang")", End::silence}}) {
    arm(fmt::format(R"({{"at":"after_commit","do":{}}})", action).c_str());
    const auto heard = hear(net::post("/p", "abc"));
    EXPECT_EQ(heard.bytes, "") << action;
    EXPECT_EQ(heard.end, end) << action;
    EXPECT_EQ(upstream_->seen(++done).size(), done) << action;
    const auto entry = logged(done);
    EXPECT_EQ(entry.upstream_status, 200);
    EXPECT_TRUE(entry.committed_at.has_value());
    EXPECT_EQ(entry.status, 0);
    EXPECT_FALSE(entry.delivered);
  }
}

TEST_F(ProxyFaultsTest, AStatusStandsInForTheReplyAndBothConnectionsGoOn) {
  start(answer_posts(3));
  arm(R"({"at":"after_commit","do":{"status":{"code":502,"body":"<html>",
         "content_type":"text/html"}}})");
  arm(R"({"at":"request_received","on":{"nth":3},"do":{"status":{"code":503}}})");
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(client.send(net::post("/p", "abc")));
  const auto first = client.hear_reply().value_or("");
  EXPECT_EQ(first, "HTTP/1.1 502 \r\nContent-Length: 6\r\nContent-Type: text/html\r\n\r\n<html>");
  ASSERT_TRUE(client.send(net::post("/p", "abc")));
  EXPECT_EQ(net::body_of(client.hear_reply().value_or("")), "answer 2");  // the same upstream's
  ASSERT_TRUE(client.send(net::post("/p", "abc")));
  EXPECT_EQ(net::status_of(client.hear_reply().value_or("")), 503);
  ASSERT_TRUE(client.send(net::post("/p", "abc")));
  EXPECT_EQ(net::body_of(client.hear_reply().value_or("")), "answer 3");
  EXPECT_EQ(logged(1).status, 502);
  EXPECT_EQ(logged(1).upstream_status, 200);
  EXPECT_FALSE(logged(1).delivered);
}

TEST_F(ProxyFaultsTest, AStatusAnswersAHeadWithoutABody) {
  start(answer_all);
  arm(R"({"at":"request_received","do":{"status":{"code":500,"body":"abc"}}})");
  const auto heard = hear("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(heard.bytes.ends_with("\r\n\r\n")) << heard.bytes;
}

TEST_F(ProxyFaultsTest, ADelayHoldsTheRequestOrTheReply) {
  start(answer_posts(3));
  for (const char* point : {"request_received", "after_commit"}) {
    arm(fmt::format(R"({{"at":"{}","do":{{"delay":"150ms"}}}})", point).c_str());
    net::RawClient client(proxy_->port());
    const auto begin = clock_.monotonic();
    ASSERT_TRUE(client.send(net::post("/p", "abc")));
    EXPECT_EQ(net::body_of(client.hear_reply().value_or("")), "answer 1");
    EXPECT_GE(clock_.monotonic() - begin, Milliseconds{150});
  }
  EXPECT_TRUE(logged(2).delivered);
  const auto entry = logged(2);
  EXPECT_GE(*entry.responded_at - *entry.committed_at, Milliseconds{150});
  EXPECT_LT(*logged(1).responded_at - *logged(1).committed_at, Milliseconds{100});
}

TEST_F(ProxyFaultsTest, AfterTheLastByteTheConnectionEnds) {
  start(answer_posts(3));
  for (const auto& [action, end] : {std::pair{"close", End::fin}, {"reset", End::reset}}) {
    arm(fmt::format(R"({{"at":"response_sent","do":"{}"}})", action).c_str());
    const auto heard = hear(net::post("/p", "abc"));
    EXPECT_EQ(heard.end, end) << action;
    EXPECT_EQ(net::body_of(heard.bytes), "answer 1") << action;
  }
  EXPECT_TRUE(logged(1).delivered);
  EXPECT_EQ(logged(1).fault, "fault-1");
}

TEST_F(ProxyFaultsTest, ATruncatedReplyEndsAtTheByte) {
  const std::string whole = ok("answer 1");
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{1}, whole.size() - 8, whole.size() - 1}) {
    ProxyOptions options;
    options.truncations = {*parse_rule(fmt::format("POST /p at={}", at), true)};
    start(answer_posts(3), std::move(options));
    const auto heard = hear(net::post("/p", "abc"), Milliseconds{5'000});
    EXPECT_EQ(heard.bytes, whole.substr(0, at));
    EXPECT_EQ(heard.end, End::fin);
    EXPECT_EQ(logged(1).fault, "truncate");
    EXPECT_FALSE(logged(1).delivered);
    EXPECT_EQ(hear(net::post("/p", "abc")).bytes, whole);
    proxy_.reset();
  }
}

TEST_F(ProxyFaultsTest, ALargeReplyIsTruncatedWhileItStreams) {
  constexpr std::size_t kCut = 5'000'000;
  ProxyOptions options;
  options.truncations = {*parse_rule(fmt::format("GET * at={}", kCut), true)};
  start(
      [](Peer& peer) {
        peer.read_until("\r\n\r\n");
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 50000000\r\n\r\n");
        for (int i = 0; i < 50; ++i) peer.send(std::string(1'000'000, 'x'));
        peer.saw("sent");
      },
      std::move(options));
  const auto heard = hear(net::get("/big"), Milliseconds{5'000});
  EXPECT_EQ(heard.bytes.size(), kCut);
  EXPECT_EQ(heard.end, End::fin);
}

TEST_F(ProxyFaultsTest, ADuplicateIsDeliveredTwiceAndAnsweredWithTheSecond) {
  ProxyOptions options;
  options.duplicates = {*parse_rule("POST /p nth=2", false)};
  start(answer_posts(3), std::move(options));
  net::RawClient client(proxy_->port());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.send(net::post("/p", "abc")));
    // The second request is the upstream's second and third.
    EXPECT_EQ(net::body_of(client.hear_reply().value_or("")),
              fmt::format("answer {}", i == 0 ? 1 : i + 2));
  }
  const std::vector<std::string> same(4, net::post("/p", "abc"));
  EXPECT_EQ(upstream_->seen(4), same);
  EXPECT_EQ(logged(2).fault, "duplicate");
  EXPECT_EQ(logged(2).note, "delivered twice; the upstream answered 200 to the first");
  EXPECT_EQ(logged(3).fault, "");
}

TEST_F(ProxyFaultsTest, ADuplicateTakesAnotherConnectionIfTheFirstIsOver) {
  ProxyOptions options;
  options.duplicates = {*parse_rule("POST /p", false)};
  start(
      [](Peer& peer) {
        peer.saw(peer.read_request(3));
        peer.send("HTTP/1.0 201 Made\r\n\r\nuntil the end");
      },
      std::move(options));
  const auto heard = hear(net::post("/p", "abc"), Milliseconds{5'000});
  EXPECT_EQ(heard.bytes, "HTTP/1.0 201 Made\r\n\r\nuntil the end");
  EXPECT_EQ(upstream_->seen(2).size(), 2U);
}

TEST_F(ProxyFaultsTest, ADuplicateWithChunksIsTheSameBytesTwice) {
  ProxyOptions options;
  options.duplicates = {*parse_rule("POST /p", false)};
  start(
      [](Peer& peer) {
        for (int i = 0; i < 2; ++i) {
          peer.saw(peer.read_request("0\r\n\r\n"));
          peer.send(ok("x"));
        }
        peer.read_to_end();
      },
      std::move(options));
  const std::string request =
      "POST /p HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n";
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(client.send(request));
  // Nothing is sent on before the whole is here, so the proxy itself says it.
  EXPECT_EQ(client.hear_all(kShort).bytes, "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(client.send("3\r\nabc\r\n0\r\n\r\n"));
  EXPECT_EQ(client.hear_reply().value_or(""), ok("x"));
  const std::string whole = request + "3\r\nabc\r\n0\r\n\r\n";
  EXPECT_EQ(upstream_->seen(2), (std::vector<std::string>{whole, whole}));
}

TEST_F(ProxyFaultsTest, ABodyTooLargeForADuplicateGoesOnceAndTheLogSaysSo) {
  ProxyOptions options;
  options.limits.duplicate_bytes = 1'000;
  options.duplicates = {*parse_rule("POST /p times=2", false)};
  start(answer_posts(300'000), std::move(options));
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(client.send(net::post("/p", std::string(300'000, 'x'))));
  EXPECT_EQ(net::body_of(client.hear_reply().value_or("")), "answer 1");
  EXPECT_EQ(upstream_->seen(1).size(), 1U);
  EXPECT_EQ(upstream_->seen()[0].size(), net::post("/p", std::string(300'000, 'x')).size());
  EXPECT_EQ(logged(1).note, "a body of more than 1000 bytes is not delivered twice");
  EXPECT_EQ(logged(1).fault, "");
}

TEST_F(ProxyFaultsTest, FaultsSelectByRouteAndKey) {
  ProxyOptions options;
  options.key_header = "X-Request-Id";
  options.routes = {*parse_route("create=POST /payments")};
  start(answer_all, std::move(options));
  arm(R"({"at":"request_received","on":{"route":"create"},"do":{"status":{"code":501}}})");
  arm(R"({"at":"request_received","on":{"route":"GET /orders/*"},"do":{"status":{"code":502}}})");
  arm(R"({"at":"request_received","on":{"key":"k 7"},"do":{"status":{"code":503}}})");
  const auto status = [&](const std::string& request) {
    return net::status_of(hear(request).bytes);
  };
  EXPECT_EQ(status(net::get("/payments")), 200);
  EXPECT_EQ(status(net::post("/payments?x=1", "")), 501);
  EXPECT_EQ(status(net::get("/orders")), 200);
  EXPECT_EQ(status(net::get("/orders/7")), 502);
  EXPECT_EQ(status(net::get("/", "x-request-ID:  k 7 \r\n")), 503);
}

TEST_F(ProxyFaultsTest, AFaultThatTheProxyCannotCarryOutIsRefused) {
  start(answer_all);
  const auto fault = faults::fault_from_json(Json::parse(R"({"at":"after_commit","do":"kill"})"));
  ASSERT_TRUE(fault.has_value());
  const auto armed = proxy_->arm(*fault);
  ASSERT_FALSE(armed.has_value());
  EXPECT_NE(armed.error().message.find("kill"), std::string::npos);
}

TEST_F(ProxyFaultsTest, AClientThatGivesUpInAHangFreesItsConnection) {
  start(answer_all);
  arm(R"({"at":"after_commit","do":"hang"})");
  {
    net::RawClient client(proxy_->port());
    ASSERT_TRUE(client.send(net::get("/")));
    EXPECT_EQ(client.hear_all(Milliseconds{100}).bytes, "");
  }
  for (int i = 0; i < 200 && proxy_->connections() > 0; ++i) clock_.wait_for(Milliseconds{10});
  EXPECT_EQ(proxy_->connections(), 0U);
}

TEST_F(ProxyFaultsTest, AHangEndsWhenTheProxyStops) {
  start(answer_all);
  arm(R"({"at":"request_received","do":"hang"})");
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(client.send(net::get("/")));
  EXPECT_EQ(client.hear_all(Milliseconds{50}).bytes, "");
  const auto begin = clock_.monotonic();
  proxy_.reset();
  EXPECT_LT(clock_.monotonic() - begin, Milliseconds{100});
}

TEST_F(ProxyFaultsTest, EachRequestIsToldWhenItIsOver) {
  std::mutex mutex;
  std::vector<fakes::WireEntry> ended;
  ProxyOptions options;
  options.on_end = [&](const fakes::WireEntry& entry) {
    const std::scoped_lock lock(mutex);
    ended.push_back(entry);
  };
  start(answer_all, std::move(options));
  hear(net::get("/a"));
  hear("nonsense\r\n\r\n");
  proxy_.reset();
  ASSERT_EQ(ended.size(), 2U);
  EXPECT_EQ(ended[0].target, "/a");
  EXPECT_EQ(ended[0].status, 200);
  EXPECT_EQ(ended[1].status, 400);
}

class ProxyAdminTest : public ProxyTest {
 protected:
  void SetUp() override {
    start(answer_all);
    auto admin = ProxyAdmin::start({}, *proxy_, clock_);
    ASSERT_TRUE(admin.has_value()) << admin.error().message;
    admin_ = std::move(*admin);
  }
  std::pair<int, Json> ask(const std::string& request) {
    net::RawClient client(admin_->port());
    EXPECT_TRUE(client.send(request));
    const auto reply = client.hear_reply().value_or("");
    return {net::status_of(reply), Json::parse(net::body_of(reply), nullptr, false)};
  }
  void call(const std::string& request) {
    net::RawClient client(proxy_->port());
    ASSERT_TRUE(client.send(request));
    client.hear_reply();
  }
  std::unique_ptr<ProxyAdmin> admin_;
};

TEST_F(ProxyAdminTest, ArmsListsAndHealsFaultsWhileItRuns) {
  EXPECT_EQ(ask(net::get("/health")).second["upstream"],
            fmt::format("127.0.0.1:{}", upstream_->port()));
  const std::string fault =
      R"({"at":"after_commit","on":{"route":"GET /x"},"do":"close","times":2})";
  EXPECT_EQ(ask(net::post("/faults", fault)), (std::pair<int, Json>(201, {{"name", "fault-1"}})));
  EXPECT_EQ(ask(net::post("/faults", R"({"at":"after_commit","do":"kill"})")).first, 400);
  EXPECT_EQ(ask(net::post("/faults", R"({"at":"never","do":"close"})")).first, 400);
  EXPECT_EQ(ask(net::post("/faults", "{")).first, 400);
  call(net::get("/x"));
  auto listed = ask(net::get("/faults")).second["faults"];
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0]["visits"], 1);
  EXPECT_EQ(listed[0]["firings"][0]["request"], 1);
  EXPECT_EQ(ask("DELETE /faults HTTP/1.1\r\nHost: h\r\n\r\n").first, 200);
  EXPECT_EQ(ask(net::get("/faults")).second["faults"][0]["released"], true);
}

TEST_F(ProxyAdminTest, GivesTheWireLogByPages) {
  call(net::get("/a?b=1", "Idempotency-Key: k1\r\n"));
  call(net::get("/b"));
  const auto [status, page] = ask(net::get("/wire-log?limit=1"));
  EXPECT_EQ(status, 200);
  EXPECT_EQ(page["total"], 2);
  ASSERT_EQ(page["requests"].size(), 1U);
  const auto& entry = page["requests"][0];
  EXPECT_EQ(entry["target"], "/a?b=1");
  EXPECT_EQ(entry["key"], "k1");
  EXPECT_EQ(entry["route"], "GET /a");
  EXPECT_EQ(entry["disposition"], "answered");
  EXPECT_EQ(entry["upstream_status"], 200);
  EXPECT_EQ(ask(net::get("/wire-log?after=1")).second["requests"][0]["target"], "/b");
  EXPECT_EQ(ask(net::get("/wire-log?after=x")).first, 400);
  EXPECT_EQ(ask(net::get("/ledger")).first, 404);
  EXPECT_EQ(ask(net::get("/health", "Origin: http://evil\r\n")).first, 403);
}

TEST_F(ProxyAdminTest, DemandsATokenBeyondLoopback) {
  EXPECT_FALSE(ProxyAdmin::start({.bind = "0.0.0.0"}, *proxy_, clock_).has_value());
  auto guarded = ProxyAdmin::start({.token = "s3cret"}, *proxy_, clock_);
  ASSERT_TRUE(guarded.has_value());
  admin_ = std::move(*guarded);
  EXPECT_EQ(ask(net::get("/health")).first, 401);
  EXPECT_EQ(ask(net::get("/health", "Authorization: Bearer s3cret\r\n")).first, 200);
}

}  // namespace
}  // namespace onceproof::proxy
