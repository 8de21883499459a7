// The gateway over real sockets: its listener in front, a scripted upstream behind.
#include "reference/gateway_server.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <latch>

#include "base/file.h"
#include "reference/memory_journal.h"
#include "reference/scripted_server.h"
#include "reference/sqlite_journal.h"

namespace onceproof {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPolicy = R"(
provider:
  no_effect: [{status: 402}]
tool_policy:
  create_payment:
    fields: {body.amount_minor: minor_units, body.trace: ignore}
    call_timeout: 500ms
    lease: 900ms
    unknown_after: 1s
    check_initial: 20ms
    check_max: 50ms
gateway:
  routes:
    - {method: POST, path: "/accounts/{account}/payments", action: create_payment, id: /data/id}
)";

class GatewayTest : public ::testing::Test {
 protected:
  void SetUp() override { open(kPolicy); }
  void TearDown() override { close(); }

  void open(const std::string& policy) {
    close();
    policy_ = parse_policy(policy, "policy.yaml").value();
    upstream_ = std::make_unique<ScriptedServer>([this](ScriptedServer::Peer& peer) {
      while (peer.read_request()) {
        if (!script(peer)) return;
      }
    });
    client_ = HttpClient::make(upstream_->url(), clock_).value();
    start();
  }
  void start() {
    journal_ = SqliteJournal::open(dir_.path() / "gateway.db").value();
    auto made = Gateway::make({clock_, *journal_, random_, policy_, sealer_, *client_});
    ASSERT_TRUE(made) << made.error().message;
    gateway_ = std::move(*made);
    server_ = GatewayServer::start({}, *gateway_, clock_).value();
  }
  void close() {
    server_.reset();
    gateway_.reset();
    journal_.reset();
  }
  // What the upstream does with a request; false: the connection is closed.
  Replaceable<std::function<bool(ScriptedServer::Peer&)>> script{
      [this](ScriptedServer::Peer& peer) {
        peer.send(http_answer(201, payment(++effects_)));
        return true;
      }};
  static std::string payment(int n) {
    return R"({"data":{"id":"pay_)" + std::to_string(n) + R"("},"card":"4242424242424242"})";
  }
  httplib::Result post(const std::string& key, const std::string& body = kBody,
                       const std::string& path = "/accounts/7/payments") {
    httplib::Headers headers;
    if (!key.empty()) headers.emplace("Idempotency-Key", key);
    return send(headers, body, path);
  }
  httplib::Result send(const httplib::Headers& headers, const std::string& body = kBody,
                       const std::string& path = "/accounts/7/payments",
                       const std::string& type = "application/json") {
    return httplib::Client(server_->url()).Post(path, headers, body, type);
  }
  static std::string type_of(const httplib::Result& result) {
    EXPECT_EQ(result->get_header_value("Content-Type"), "application/problem+json");
    const auto type = find_string(parse_json(result->body).value(), "type").value_or("");
    return type.substr(type.rfind(':') + 1);
  }

  static constexpr const char* kBody = R"({"amount_minor": 490000, "currency": "RUB"})";
  RealClock clock_;
  SystemRandom random_;
  TempDir dir_ = std::move(TempDir::make("onceproof-gateway").value());
  Sealer sealer_ = Sealer::from_text(std::string(64, 'a'), "test").value();
  PolicyFile policy_;
  std::atomic<int> effects_ = 0;
  std::unique_ptr<ScriptedServer> upstream_;
  std::unique_ptr<HttpClient> client_;
  std::unique_ptr<SqliteJournal> journal_;
  std::unique_ptr<Gateway> gateway_;
  std::unique_ptr<GatewayServer> server_;
};

TEST_F(GatewayTest, ARepeatGetsTheFirstAnswerAndIsMarked) {
  const auto first = post("\"k1\"");
  EXPECT_EQ(first->status, 201);
  EXPECT_EQ(first->body, payment(1));
  EXPECT_FALSE(first->has_header("Idempotency-Replayed"));
  const auto again = post("k1", R"({"currency":"RUB", "trace": 7, "amount_minor": 490000})");
  EXPECT_EQ(again->status, 201);
  EXPECT_EQ(again->body, payment(1));
  EXPECT_EQ(again->get_header_value("Content-Type"), "application/json");
  EXPECT_EQ(again->get_header_value("Idempotency-Replayed"), "true");
  EXPECT_EQ(effects_, 1);
}

TEST_F(GatewayTest, ARepeatAfterARestartGetsTheFirstAnswer) {
  post("k1");
  close();
  start();
  EXPECT_EQ(post("k1")->body, payment(1));
  EXPECT_EQ(effects_, 1);
}

TEST_F(GatewayTest, TheRequestIsPassedOnAsItCame) {
  send({{"Idempotency-Key", "k1"}, {"Authorization", "Bearer s3cret"}}, kBody,
       "/accounts/7/payments?expand=all");
  const auto request = upstream_->requests().at(0);
  EXPECT_TRUE(request.head.starts_with("POST /accounts/7/payments?expand=all HTTP/1.1\r\n"));
  EXPECT_NE(request.head.find("Authorization: Bearer s3cret"), std::string::npos);
  EXPECT_EQ(request.head.find("Idempotency-Key"), std::string::npos);
  EXPECT_EQ(request.head.find("REMOTE_ADDR"), std::string::npos);
  EXPECT_EQ(request.body, kBody);
}

TEST_F(GatewayTest, AnotherRequestUnderTheKeyIs422AndIsNotSent) {
  post("k1");
  const auto other = post("k1", R"({"amount_minor": 1, "currency": "RUB"})");
  EXPECT_EQ(other->status, 422);
  EXPECT_EQ(type_of(other), "key-reused");
  EXPECT_EQ(other->body.find("490000"), std::string::npos);
  EXPECT_EQ(post("k1", kBody, "/accounts/8/payments")->status, 422);
  EXPECT_EQ(effects_, 1);
}

TEST_F(GatewayTest, WithoutAUsableKeyNothingIsSent) {
  EXPECT_EQ(type_of(post("")), "key-missing");
  EXPECT_EQ(post("")->status, 400);
  EXPECT_EQ(type_of(post("a, b")), "key-invalid");
  EXPECT_EQ(type_of(post("\"open")), "key-invalid");
  const auto twice = send({{"Idempotency-Key", "k1"}, {"Idempotency-Key", "k1"}});
  EXPECT_EQ(twice->status, 400);
  EXPECT_EQ(type_of(twice), "key-invalid");
  EXPECT_EQ(type_of(post("k1", R"({"amount_minor": 0.5})")), "invalid-request");
  EXPECT_EQ(type_of(post("k1", "{")), "invalid-request");
  EXPECT_EQ(effects_, 0);
  EXPECT_TRUE(journal_->list({}).value().empty());
}

TEST_F(GatewayTest, OnlyRoutesArePassedOnButReadsAre) {
  EXPECT_EQ(type_of(post("k1", kBody, "/refunds")), "no-route");
  EXPECT_EQ(type_of(post("k1", kBody, "/accounts//payments")), "no-route");
  EXPECT_EQ(effects_, 0);
  httplib::Client client(server_->url());
  EXPECT_EQ(client.Get("/payments/pay_1?x=1")->status, 201);
  EXPECT_TRUE(upstream_->requests().at(0).head.starts_with("GET /payments/pay_1?x=1 "));
}

TEST_F(GatewayTest, ALostReplyIs504AndNoRepeatIsSent) {
  script = [this](ScriptedServer::Peer&) {
    ++effects_;
    return false;  // the effect exists, the reply is lost
  };
  const auto lost = post("k1");
  EXPECT_EQ(lost->status, 504);
  EXPECT_EQ(type_of(lost), "outcome-unknown");
  EXPECT_TRUE(lost->has_header("Retry-After"));
  EXPECT_EQ(post("k1")->status, 504);
  EXPECT_EQ(effects_, 1);  // this provider can never tell, so nobody sends it again
}

TEST_F(GatewayTest, WhatStaysUnknownGoesToAPersonAndTheirWordIsTheAnswer) {
  script = [](ScriptedServer::Peer&) { return false; };
  post("k1");
  const auto until = clock_.monotonic() + 10s;
  while (journal_->list({{}, true, "", 10}).value().empty() && clock_.monotonic() < until) {
    ASSERT_TRUE(gateway_->reconcile());
    clock_.wait_for(100ms);
  }
  EXPECT_EQ(type_of(post("k1")), "in-review");
  const auto operation = journal_->list({}).value().at(0);
  const Resolution found{Resolution::How::succeeded, "pay_9", "ann", "seen in the dashboard",
                         operation.event_count};
  ASSERT_TRUE(journal_->resolve(operation.operation_key, found, {}, clock_.civil()));
  const auto answer = post("k1");
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(find_string(parse_json(answer->body).value(), "external_id"), "pay_9");
}

TEST_F(GatewayTest, AnUpstreamWithKeysGetsTheSameOneAgain) {
  auto text = std::string(kPolicy);
  text.replace(text.find("no_effect"), 0, "key_dedup: {header: X-Request-Id, window: 24h}\n  ");
  open(text);
  std::atomic<int> calls = 0;
  script = [&](ScriptedServer::Peer& peer) {
    if (++calls == 1) return false;
    peer.send(http_answer(201, payment(1)));
    return true;
  };
  EXPECT_EQ(post("k1")->status, 504);
  auto again = post("k1");  // not before the next check is due
  for (int i = 0; i < 100 && again->status == 504; ++i) {
    clock_.wait_for(10ms);
    again = post("k1");
  }
  EXPECT_EQ(again->status, 201);
  const auto requests = upstream_->requests();
  ASSERT_EQ(requests.size(), 2U);
  const auto key_in = [](const std::string& head) {
    const auto from = head.find("X-Request-Id: ");
    return from == head.npos ? "" : head.substr(from, head.find("\r\n", from) - from);
  };
  EXPECT_NE(key_in(requests[0].head), "");
  EXPECT_EQ(key_in(requests[0].head), key_in(requests[1].head));
}

TEST_F(GatewayTest, ARejectionIsFinalAndRepeated) {
  script = [](ScriptedServer::Peer& peer) {
    peer.send(http_answer(402, R"({"error":{"code":"card_declined","message":"no"}})"));
    return true;
  };
  EXPECT_EQ(post("k1")->status, 402);
  const auto again = post("k1");
  EXPECT_EQ(again->status, 402);
  EXPECT_NE(again->body.find("card_declined"), std::string::npos);
  EXPECT_EQ(again->get_header_value("Idempotency-Replayed"), "true");
  EXPECT_EQ(upstream_->requests().size(), 1U);
}

TEST_F(GatewayTest, AProxysPageIsNoSuccess) {
  script = [](ScriptedServer::Peer& peer) {
    peer.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>");
    return true;
  };
  EXPECT_EQ(post("k1")->status, 504);
}

TEST_F(GatewayTest, WhatWasNeverSentMayBeSentAgain) {
  upstream_.reset();
  const auto refused = post("k1");
  EXPECT_EQ(refused->status, 502);
  EXPECT_EQ(type_of(refused), "no-effect");
}

TEST_F(GatewayTest, OfManyAtOnceOneIsSentAndTheOthersWait) {
  std::latch all(6);
  script = [this](ScriptedServer::Peer& peer) {
    clock_.wait_for(200ms);
    peer.send(http_answer(201, payment(++effects_)));
    return true;
  };
  std::atomic<int> made = 0;
  std::atomic<int> in_flight = 0;
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 6; ++i) {
      clients.emplace_back([&] {
        all.arrive_and_wait();
        const auto answer = post("k1");
        if (answer->status == 201) ++made;
        if (answer->status == 409) ++in_flight;
      });
    }
  }
  EXPECT_EQ(effects_, 1);
  EXPECT_EQ(made + in_flight, 6);
  EXPECT_GE(made, 1);
}

TEST_F(GatewayTest, NothingOfARequestOrAnswerStandsReadableInTheJournal) {
  send({{"Idempotency-Key", "k1"}, {"Authorization", "Bearer s3cret"}});
  close();
  for (const auto& file : std::filesystem::directory_iterator(dir_.path())) {
    const auto bytes = read_file(file.path()).value();
    for (const char* secret : {"s3cret", "490000", "4242424242424242"}) {
      EXPECT_EQ(bytes.find(secret), std::string::npos) << file.path() << " has " << secret;
    }
  }
}

TEST_F(GatewayTest, TenantsWithOneKeyAreApart) {
  open(std::string(kPolicy) + "  tenant_header: X-Client\n");
  const auto post_as = [&](const char* client_name) {
    return send({{"Idempotency-Key", "k1"}, {"X-Client", client_name}});
  };
  EXPECT_EQ(post_as("ann")->body, payment(1));
  EXPECT_EQ(post_as("bob")->body, payment(2));
  EXPECT_EQ(post_as("ann")->body, payment(1));
  EXPECT_EQ(type_of(post("k1")), "tenant-missing");
}

TEST_F(GatewayTest, AFormCountsByteByByte) {
  const auto send_form = [&](const std::string& body) {
    return send({{"Idempotency-Key", "k1"}}, body, "/accounts/7/payments",
                "application/x-www-form-urlencoded");
  };
  EXPECT_EQ(send_form("amount=1")->status, 201);
  EXPECT_EQ(upstream_->requests().at(0).body, "amount=1");
  EXPECT_EQ(send_form("amount=1")->status, 201);
  EXPECT_EQ(send_form("amount=2")->status, 422);
  EXPECT_EQ(effects_, 1);
}

TEST_F(GatewayTest, ABusyPortIsNamed) {
  const auto url = server_->url();
  const int port = std::stoi(url.substr(url.rfind(':') + 1));
  const auto second = GatewayServer::start({.port = port}, *gateway_, clock_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::port_busy);
}

TEST(GatewayPolicyTest, WhatTheGatewayCannotKeepIsRefused) {
  RealClock clock;
  SystemRandom random;
  MemoryJournal journal;
  const auto sealer = Sealer::from_text(std::string(64, 'a'), "test").value();
  const auto client = HttpClient::make("http://127.0.0.1:9", clock).value();
  const auto refusal = [&](const std::string& policy) {
    auto file = parse_policy(policy, "p.yaml");
    if (!file) return file.error().message;
    auto made = Gateway::make({clock, journal, random, *file, sealer, *client});
    return made ? std::string() : made.error().message;
  };
  EXPECT_NE(refusal("tool_policy: {a: }\n").find("no gateway.routes"), std::string::npos);
  const std::string route = "gateway: {routes: [{method: POST, path: /a, action: a}]}\n";
  EXPECT_EQ(refusal("tool_policy: {a: }\n" + route), "");
  EXPECT_NE(refusal("provider: {lookup: {by: key}}\ntool_policy: {a: }\n" + route).find("lookup"),
            std::string::npos);
  EXPECT_NE(refusal("tool_policy: {a: {keep_params: encrypted}}\n" + route).find("keep_params"),
            std::string::npos);
  EXPECT_NE(refusal("tool_policy: {b: }\n" + route).find("p.yaml:2:"), std::string::npos);
}

}  // namespace
}  // namespace onceproof
