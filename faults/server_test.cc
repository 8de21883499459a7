// What a client can do to a server: nothing that hurts it.
#include "faults/server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/guarded.h"
#include "base/random.h"
#include "net/raw_client.h"

namespace onceproof::faults {
namespace {

using net::body_of;
using net::get;
using net::post;
using net::RawClient;
using net::status_of;

using End = RawClient::End;

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override { start({}); }
  void start(ServerLimits limits) {
    HttpHandlers handlers;
    handlers.serve = [this](const HttpRequest& request, std::stop_token) {
      bodies_.lock()->push_back(request.body);
      return Decision{};
    };
    handlers.refused = [this](const HttpRequest&, int status) {
      refusals_.lock()->push_back(status);
    };
    ServerOptions options;
    options.limits = limits;
    auto server = HttpServer::start(options, std::move(handlers), clock_);
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = std::move(*server);
  }
  // The reply to raw bytes; the connection must end after it.
  std::string refusal(std::string_view bytes) {
    RawClient client(server_->port());
    EXPECT_TRUE(client.send(bytes));
    const auto heard = client.hear_all();
    EXPECT_EQ(heard.end, End::fin) << heard.bytes;
    return heard.bytes;
  }
  void expect_alive() {
    RawClient client(server_->port());
    EXPECT_TRUE(client.send(get("/")));
    EXPECT_EQ(status_of(client.hear_reply().value_or("")), 200);
  }

  RealClock clock_;
  Guarded<std::vector<std::string>> bodies_;
  Guarded<std::vector<int>> refusals_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(ServerTest, GarbageIsAnsweredAndCounted) {
  const std::string reply = refusal("\x16\x03\x01\x02\x00\x01 hello TLS\n");
  EXPECT_EQ(status_of(reply), 400);
  EXPECT_NE(reply.find("\r\nConnection: close\r\n"), std::string::npos);
  EXPECT_EQ(body_of(reply), R"({"error":{"code":"malformed_request",)"
                            R"("message":"this is not HTTP; write METHOD /path HTTP/1.1"}})");
  EXPECT_EQ(status_of(refusal("GET / HTTP/1.1\nHost: a\n\n")), 400);
  EXPECT_EQ(status_of(refusal("\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n")), 400);
  EXPECT_EQ(status_of(refusal("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")), 505);
  EXPECT_EQ(status_of(refusal("GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n")), 400);
  EXPECT_EQ(*refusals_.lock(), (std::vector<int>{400, 400, 400, 505, 400}));
  EXPECT_TRUE(bodies_.lock()->empty());
  expect_alive();
}

TEST_F(ServerTest, RandomBytesNeverHurt) {
  SeededRandom random(817);
  const std::string_view pieces[] = {"GET ",
                                     "POST ",
                                     "/payments",
                                     "?",
                                     "%",
                                     " HTTP/1.1",
                                     "\r\n",
                                     "\r\n\r\n",
                                     "Host:",
                                     "localhost",
                                     "Content-Length: 5",
                                     "Transfer-Encoding: chunked",
                                     "5\r\nhello\r\n",
                                     "0\r\n",
                                     "Range: bytes=0-",
                                     "Expect: 100-continue",
                                     "\n",
                                     "a",
                                     ":",
                                     ",",
                                     "{\"a\":"};
  for (int i = 0; i < 200; ++i) {
    std::string bytes;
    for (std::uint64_t n = random.below(20); n > 0; --n) {
      if (random.below(4) == 0) {
        for (std::uint64_t m = random.below(30); m > 0; --m) {
          bytes += static_cast<char>(random.below(256));
        }
      } else {
        bytes += pieces[random.below(std::size(pieces))];
      }
    }
    RawClient client(server_->port());
    ASSERT_TRUE(client.connected());
    if (client.send(bytes)) client.half_close();
    EXPECT_NE(client.hear_all().end, End::silence) << i;  // bounded, whatever it was
  }
  expect_alive();
}

TEST_F(ServerTest, AnOversizedBodyGets413ThatTheClientCanRead) {
  const std::string body((1 << 20) + 1, 'x');
  RawClient client(server_->port());
  client.send(post("/payments", body));  // breaks or not: the answer is there
  const auto heard = client.hear_all();
  EXPECT_EQ(status_of(heard.bytes), 413);
  EXPECT_EQ(heard.end, End::fin);
  EXPECT_TRUE(bodies_.lock()->empty());
  RawClient largest(server_->port());
  ASSERT_TRUE(largest.send(post("/payments", std::string_view(body).substr(1))));
  EXPECT_EQ(status_of(largest.hear_reply().value_or("")), 200);
  EXPECT_EQ(bodies_.lock()->at(0).size(), std::size_t{1} << 20);
}

TEST_F(ServerTest, AnOversizedChunkedBodyGets413) {
  std::string request = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 17; ++i) request += "10000\r\n" + std::string(65'536, 'x') + "\r\n";
  EXPECT_EQ(status_of(refusal(request)), 413);
  EXPECT_EQ(status_of(refusal("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                              "fffffffffffffff\r\n")),
            413);
}

TEST_F(ServerTest, AChunkedBodyIsPutTogether) {
  RawClient client(server_->port());
  ASSERT_TRUE(
      client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "4;x=y\r\n{\"a\"\r\nA\r\n:123456789\r\n1\r\n}\r\n0\r\nTrailer: 1\r\n\r\n"));
  EXPECT_EQ(status_of(client.hear_reply().value_or("")), 200);
  EXPECT_EQ(bodies_.lock()->at(0), "{\"a\":123456789}");
  EXPECT_EQ(status_of(refusal("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                              "2\r\nabc\r\n0\r\n\r\n")),
            400);
}

TEST_F(ServerTest, TooMuchHeadIsRefused) {
  EXPECT_EQ(status_of(refusal("GET /" + std::string(9'000, 'a'))), 414);
  EXPECT_EQ(status_of(refusal("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(40'000, 'a'))), 431);
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 2'000; ++i) many += fmt::format("X-{}: aaaaaaaaaaaaaaaa\r\n", i);
  EXPECT_EQ(status_of(refusal(many)), 431);
  // As an attack: a Range that would be fed to a regular expression, a body that unpacks to 1 GiB.
  RawClient client(server_->port());
  ASSERT_TRUE(client.send(get("/", "Range: bytes=" + std::string(20'000, '1') + "-\r\n")));
  EXPECT_EQ(status_of(client.hear_reply().value_or("")), 200);
  EXPECT_EQ(status_of(refusal(post("/", "\x1f\x8b", "Content-Encoding: gzip\r\n"))), 415);
}

TEST_F(ServerTest, ContinueIsSaidToAClientThatWaitsForIt) {
  RawClient client(server_->port());
  ASSERT_TRUE(client.send(
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(client.hear_all(Milliseconds{200}).bytes, "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(client.send("{}"));
  EXPECT_EQ(status_of(client.hear_reply().value_or("")), 200);
  EXPECT_EQ(status_of(refusal("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n"
                              "Expect: 100-continue\r\n\r\n")),
            413);
}

TEST_F(ServerTest, ASlowRequestIsCutOffThoughItNeverStops) {
  server_.reset();
  ServerLimits limits;
  limits.request = Milliseconds{120};
  start(limits);
  RawClient client(server_->port());
  std::string heard;
  // A byte every 10 ms for at most 5 s: with a time-out per read this would go on for ever.
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: a\r\nX: "));
  for (int i = 0; i < 500 && heard.empty(); ++i) {
    client.send("a");
    heard = client.hear_all(Milliseconds{10}).bytes;
  }
  EXPECT_EQ(status_of(heard), 408);
  EXPECT_EQ(refusals_.lock()->at(0), 408);
  RawClient half_body(server_->port());
  ASSERT_TRUE(half_body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc"));
  EXPECT_EQ(status_of(half_body.hear_all().bytes), 408);
}

TEST_F(ServerTest, AnIdleConnectionEndsInTheEndWithoutAByte) {
  server_.reset();
  ServerLimits limits;
  limits.idle = Milliseconds{30};
  start(limits);
  RawClient client(server_->port());
  const auto heard = client.hear_all();
  EXPECT_EQ(heard.bytes, "");
  EXPECT_EQ(heard.end, End::fin);
  EXPECT_TRUE(refusals_.lock()->empty());
}

TEST_F(ServerTest, AHalfRequestIsNoRequest) {
  RawClient client(server_->port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc"));
  client.half_close();
  const auto heard = client.hear_all();
  EXPECT_EQ(heard.bytes, "");
  EXPECT_EQ(heard.end, End::fin);
  EXPECT_TRUE(bodies_.lock()->empty());
}

TEST_F(ServerTest, AClientThatDoesNotReadIsLetGo) {
  server_.reset();
  HttpHandlers handlers;
  handlers.serve = [](const HttpRequest&, std::stop_token) {
    Decision decision;
    decision.reply.body.assign(16 << 20, 'x');
    return decision;
  };
  ServerOptions options;
  options.limits.write = Milliseconds{50};
  auto server = HttpServer::start(options, std::move(handlers), clock_).value();
  RawClient client(server->port());
  ASSERT_TRUE(client.send(get("/")));
  for (int i = 0; i < 20'000 && server->connections() > 0; ++i) clock_.wait_for(Milliseconds{1});
  EXPECT_EQ(server->connections(), 0U);
}

}  // namespace
}  // namespace onceproof::faults
