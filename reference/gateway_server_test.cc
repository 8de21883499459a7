// The gateway's wire, byte by byte: what reaches the upstream is what was sent, or nothing is.
#include "reference/gateway_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/file.h"
#include "net/raw_client.h"
#include "reference/scripted_server.h"
#include "reference/sqlite_journal.h"

namespace onceproof {
namespace {

using net::RawClient;
using net::status_of;

constexpr const char* kPolicy = R"(
provider: {key_dedup: {header: X-Request-Id, window: 1h}}
tool_policy:
  create_payment: {call_timeout: 500ms, lease: 900ms}
gateway:
  routes:
    - {method: POST, path: /pay, action: create_payment}
    - {method: PUT, path: /pay, action: create_payment}
)";
constexpr const char* kBody = R"({"amount_minor":490000})";

class GatewayServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Gateway::make({clock_, *journal_, random_, policy_, sealer_, *client_});
    ASSERT_TRUE(made) << made.error().message;
    gateway_ = std::move(*made);
    server_ = GatewayServer::start({}, *gateway_, clock_).value();
  }
  std::string send(const std::string& bytes) {
    RawClient client(server_->port());
    client.send(bytes);
    return client.hear_reply().value_or("");
  }
  std::string post(const std::string& headers, const std::string& body = kBody,
                   const std::string& method = "POST") {
    auto request = net::post("/pay", body, "Content-Type: application/json\r\n" + headers);
    return send(request.replace(0, 4, method));
  }
  std::string head_upstream(std::size_t n) { return upstream_.requests().at(n).head; }

  RealClock clock_;
  SystemRandom random_;
  TempDir dir_ = std::move(TempDir::make("onceproof-gateway-server").value());
  Sealer sealer_ = Sealer::from_text(std::string(64, 'a'), "test").value();
  PolicyFile policy_ = parse_policy(kPolicy, "policy.yaml").value();
  Replaceable<std::function<std::string()>> answer_{
      [] { return http_answer(201, R"({"id":"pay_1"})"); }};
  ScriptedServer upstream_{[this](ScriptedServer::Peer& peer) {
    while (peer.read_request()) peer.send(answer_());
  }};
  std::unique_ptr<HttpClient> client_ = HttpClient::make(upstream_.url(), clock_).value();
  std::unique_ptr<SqliteJournal> journal_ = SqliteJournal::open(dir_.path() / "gateway.db").value();
  std::unique_ptr<Gateway> gateway_;
  std::unique_ptr<GatewayServer> server_;
};

TEST_F(GatewayServerTest, HeadersArePassedOnByteForByte) {
  EXPECT_EQ(status_of(post("Idempotency-Key: k1\r\nAuthorization: x%2By\r\n"
                           "X-Z: a%0d%0a%0d%0aPOST%20/pay\r\n")),
            201);
  EXPECT_NE(head_upstream(0).find("Authorization: x%2By\r\n"), std::string::npos);
  EXPECT_NE(head_upstream(0).find("X-Z: a%0d%0a%0d%0aPOST%20/pay\r\n"), std::string::npos);
  EXPECT_EQ(upstream_.requests().size(), 1U);
}

TEST_F(GatewayServerTest, KeysAreComparedAsTheyWereSent) {
  EXPECT_EQ(status_of(post("Idempotency-Key: a%41\r\n")), 201);
  const auto other = post("Idempotency-Key: aA\r\n", R"({"amount_minor":1})");
  EXPECT_EQ(status_of(other), 201);
  EXPECT_EQ(other.find("Replayed"), std::string::npos);
  EXPECT_EQ(upstream_.requests().size(), 2U);
}

TEST_F(GatewayServerTest, TheUpstreamsOwnKeyHeaderIsTheGatewaysAlone) {
  post("Idempotency-Key: k1\r\nx-request-id: mine\r\nConnection: x-hop\r\nX-Hop: 1\r\n");
  const auto head = head_upstream(0);
  EXPECT_EQ(head.find("mine"), std::string::npos);
  EXPECT_NE(head.find("X-Request-Id: op_"), std::string::npos) << head;
  EXPECT_EQ(head.find("X-Hop"), std::string::npos);
}

TEST_F(GatewayServerTest, TheMethodBelongsToTheRequest) {
  EXPECT_EQ(status_of(post("Idempotency-Key: k1\r\n")), 201);
  EXPECT_EQ(status_of(post("Idempotency-Key: k1\r\n", kBody, "PUT")), 422);
  EXPECT_EQ(upstream_.requests().size(), 1U);
}

TEST_F(GatewayServerTest, WhatCouldBeReadInTwoWaysIsRefusedAndNotSent) {
  for (const char* framing :
       {"Content-Length: abc", "Content-Length: 5x", "Content-Length: 2\r\nContent-Length: 3",
        "Content-Length: 2\r\nTransfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked",
        "X-A: b\r\n folded", "X A: b"}) {
    const auto reply = send(fmt::format(
        "POST /pay HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k1\r\n{}\r\n\r\n{{}}", framing));
    EXPECT_TRUE(status_of(reply) == 400 || status_of(reply) == 501) << framing << "\n" << reply;
    EXPECT_NE(reply.find("application/problem+json"), std::string::npos);
  }
  EXPECT_TRUE(upstream_.requests().empty());
}

TEST_F(GatewayServerTest, AChunkedBodyIsWhole) {
  const std::string chunked =
      "POST /pay HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k1\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n10\r\n{\"amount_minor\":\r\n2\r\n1}\r\n0\r\n\r\n";
  EXPECT_EQ(status_of(send(chunked)), 201);
  EXPECT_EQ(upstream_.requests().at(0).body, R"({"amount_minor":1})");
  EXPECT_EQ(status_of(post("Idempotency-Key: k1\r\n", R"({"amount_minor":2})")), 422);
}

TEST_F(GatewayServerTest, ABodyOfAGetIsNoRequest) {
  const auto inner = net::post("/pay", kBody, "Idempotency-Key: k9\r\n");
  RawClient client(server_->port());
  client.send(fmt::format("GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}",
                          inner.size(), inner));
  EXPECT_TRUE(client.hear_reply());
  ASSERT_EQ(upstream_.requests().size(), 1U);
  EXPECT_TRUE(head_upstream(0).starts_with("GET /health"));
}

TEST_F(GatewayServerTest, PipelinedRequestsAreAnsweredInTurn) {
  RawClient client(server_->port());
  std::string all;
  for (const char* key : {"k1", "k2", "k3", "k4"}) {
    all += net::post("/pay", kBody, fmt::format("Idempotency-Key: {}\r\n", key));
  }
  client.send(all);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(status_of(client.hear_reply().value_or("")), 201) << i;
}

TEST_F(GatewayServerTest, ARangeIsTheUpstreamsBusiness) {
  const auto reply = post("Idempotency-Key: k1\r\nRange: bytes=0-3\r\n");
  EXPECT_EQ(status_of(reply), 201);
  EXPECT_EQ(net::body_of(reply), R"({"id":"pay_1"})");
}

TEST_F(GatewayServerTest, ABigAnswerIsKeptWhole) {
  const std::string body = R"({"id":"pay_1","text":")" + std::string(900'000, 'a') + R"("})";
  answer_ = [&] { return http_answer(201, body); };
  EXPECT_EQ(net::body_of(post("Idempotency-Key: k1\r\n")), body);
  EXPECT_EQ(net::body_of(post("Idempotency-Key: k1\r\n")), body);
  EXPECT_EQ(upstream_.requests().size(), 1U);
}

TEST_F(GatewayServerTest, InterimAnswersAreNotTheAnswer) {
  answer_ = [] {
    return "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + http_answer(201, R"({"id":"pay_1"})");
  };
  EXPECT_EQ(status_of(post("Idempotency-Key: k1\r\n")), 201);
}

TEST_F(GatewayServerTest, APassedOnAnswerKeepsItsHeaders) {
  answer_ = [] {
    return http_answer(200, "{}", "ETag: \"e%201\"\r\nContent-Encoding: x\r\nSet-Cookie: a=b\r\n");
  };
  const auto reply = send(net::get("/health", "X-HTTP-Method-Override: POST\r\n"));
  for (const char* line : {"ETag: \"e%201\"\r\n", "Content-Encoding: x\r\n", "Set-Cookie: a=b"}) {
    EXPECT_NE(reply.find(line), std::string::npos) << reply;
  }
  EXPECT_EQ(head_upstream(0).find("Override"), std::string::npos);
}

// Slow clients hold a thread each, and none of them holds up another client or the end.
TEST_F(GatewayServerTest, DrippingClientsKeepNobodyWaiting) {
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 40; ++i) {
    slow.push_back(std::make_unique<RawClient>(server_->port()));
    slow.back()->send("POST /pay HTTP/1.1\r\nX: ");
  }
  EXPECT_EQ(status_of(post("Idempotency-Key: k1\r\n")), 201);
  const auto before = clock_.monotonic();
  server_.reset();
  EXPECT_LT(clock_.monotonic() - before, Milliseconds{5'000});
}

TEST_F(GatewayServerTest, ARequestUnderWayIsFinishedAtTheEnd) {
  std::atomic<bool> reached = false;
  answer_ = [&] {
    reached = true;
    clock_.wait_for(Milliseconds{200});
    return http_answer(201, R"({"id":"pay_1"})");
  };
  RawClient client(server_->port());
  client.send(net::post("/pay", kBody, "Idempotency-Key: k1\r\n"));
  while (!reached) std::this_thread::yield();
  server_.reset();
  EXPECT_EQ(status_of(client.hear_reply().value_or("")), 201);
}

}  // namespace
}  // namespace onceproof
