// What a server can do to a client, and that no request is ever written twice.
#include "reference/http_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <thread>

#include "reference/scripted_server.h"

namespace onceproof {
namespace {

using Peer = ScriptedServer::Peer;

constexpr Milliseconds kLong{20'000};  // never reached in a test that passes
constexpr Milliseconds kShort{150};
constexpr std::size_t kMaxAnswer = 64 << 10;

std::unique_ptr<HttpClient> client_of(const std::string& url) {
  static RealClock clock;
  auto client = HttpClient::make(url, clock, kMaxAnswer);
  EXPECT_TRUE(client) << client.error().message;
  return std::move(*client);
}

HttpRequest post(std::string body = "{}") {
  return {"POST", "/payments", {{"Idempotency-Key", "op_1"}}, std::move(body)};
}
HttpRequest get() {
  return {"GET", "/payments?reference=op_1", {}, {}};
}

// One exchange with a server that reads the request, then does `what`.
Exchange once(const std::function<void(Peer&)>& what, const HttpRequest& request = post(),
              Milliseconds timeout = kLong) {
  ScriptedServer server([&](Peer& peer) {
    if (peer.read_request()) what(peer);
  });
  const auto exchange = client_of(server.url())->exchange(request, timeout);
  EXPECT_EQ(server.requests().size(), 1U) << "a request was written more than once, or not at all";
  return exchange;
}
ExchangeEnd end_of(const std::string& bytes) {
  return once([&](Peer& peer) { peer.send(bytes); }).end;
}

TEST(HttpClientTest, SendsTheRequestAsItIsGiven) {
  ScriptedServer server([](Peer& peer) {
    while (peer.read_request()) peer.send(http_answer(201, R"({"id":"pay_1"})"));
  });
  const auto client = client_of(server.url() + "/w1/");
  const auto exchange = client->exchange(post(R"({"a":1})"), kLong);
  EXPECT_EQ(exchange.end, ExchangeEnd::complete);
  EXPECT_EQ(exchange.status, 201);
  EXPECT_EQ(exchange.body, R"({"id":"pay_1"})");
  EXPECT_EQ(exchange.content_type, "application/json");
  client->exchange(get(), kLong);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2U);
  const std::string& head = requests[0].head;
  EXPECT_TRUE(head.starts_with("POST /w1/payments HTTP/1.1\r\n")) << head;
  EXPECT_NE(head.find("Idempotency-Key: op_1\r\n"), head.npos) << head;
  EXPECT_NE(head.find("Content-Type: application/json\r\n"), head.npos) << head;
  EXPECT_NE(head.find("Host: 127.0.0.1:"), head.npos) << head;
  EXPECT_NE(head.find("Accept-Encoding: identity\r\n"), head.npos) << head;
  EXPECT_EQ(head.find("Connection: close"), head.npos) << head;
  EXPECT_EQ(requests[0].body, R"({"a":1})");
  EXPECT_TRUE(requests[1].head.starts_with("GET /w1/payments?reference=op_1 HTTP/1.1\r\n"))
      << requests[1].head;
  EXPECT_EQ(requests[1].body, "");
}

TEST(HttpClientTest, ReadsEveryFormOfABody) {
  EXPECT_EQ(once([](Peer& p) { p.send(http_answer(200, "abc")); }).body, "abc");
  EXPECT_EQ(
      once([](Peer& p) {
        p.send(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
      }).body,
      "abc");
  EXPECT_EQ(once([](Peer& p) { p.send("HTTP/1.1 200 OK\r\n\r\nabc"); }).body,
            "abc");  // until the close
  EXPECT_EQ(once([](Peer& p) { p.send("HTTP/1.1 204 No Content\r\n\r\n"); }).status, 204);
  EXPECT_EQ(once([](Peer& p) {
              p.send("HTTP/1.1 100 Continue\r\n\r\n" + http_answer(201, "abc"));
            }).status,
            201);
}

TEST(HttpClientTest, DoesNotDecompress) {
  const auto exchange =
      once([](Peer& p) { p.send(http_answer(200, "not gzip", "Content-Encoding: gzip\r\n")); });
  EXPECT_EQ(exchange.end, ExchangeEnd::complete);
  EXPECT_EQ(exchange.body, "not gzip");
}

TEST(HttpClientTest, EveryWayToBreakOffIsTold) {
  using E = ExchangeEnd;
  EXPECT_EQ(end_of(""), E::no_answer);
  EXPECT_EQ(once([](Peer& p) { p.reset(); }).end, E::no_answer);
  EXPECT_EQ(end_of("H"), E::answer_cut);
  EXPECT_EQ(end_of("HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n"), E::answer_cut);
  EXPECT_EQ(end_of("HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n"), E::answer_cut);
  EXPECT_EQ(end_of("HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{\"id\":"), E::answer_cut);
  EXPECT_EQ(end_of("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"),
            E::answer_cut);
  EXPECT_EQ(end_of("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"),
            E::answer_cut);
  EXPECT_EQ(once([](Peer& p) {
              p.send("HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{");
              p.reset();
            }).end,
            E::answer_cut);
}

// The truth about a cut at byte n is the same for every n.
TEST(HttpClientTest, AnAnswerCutAtAnyByteIsNeverComplete) {
  const std::string whole = http_answer(201, R"({"id":"pay_1","status":"succeeded"})");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_EQ(end_of(whole.substr(0, bytes)),
              bytes == 0 ? ExchangeEnd::no_answer : ExchangeEnd::answer_cut)
        << bytes;
  }
  EXPECT_EQ(end_of(whole), ExchangeEnd::complete);
}

TEST(HttpClientTest, WhatIsNotHttpIsMalformed) {
  using E = ExchangeEnd;
  const auto told = [](const std::string& bytes) {
    return once([&](Peer& p) {
             p.send(bytes);
             p.hang();
           })
        .end;
  };
  EXPECT_EQ(told("SSH-2.0-OpenSSH_9.2\r\n"), E::malformed);
  EXPECT_EQ(told("HTTP/2 201 Created\r\n\r\n"), E::malformed);
  EXPECT_EQ(told("HTTP/1.1 ok\r\n\r\n"), E::malformed);
  EXPECT_EQ(told("HTTP/1.1 201 " + std::string(100'000, 'a') + "\r\n\r\n"), E::malformed);
  EXPECT_EQ(
      told("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 " + std::string(100'000, 'a') + "\r\n\r\n"),
      E::malformed);
  EXPECT_EQ(told("HTTP/1.1 201 Created\r\nX: " + std::string(60'000, 'a') + "\r\n\r\n"),
            E::malformed);
}

TEST(HttpClientTest, AnAnswerLongerThanItsLimitIsNotRead) {
  const auto endless = [](const std::string& head, const std::string& piece) {
    return once([&](Peer& p) {
             p.send(head);
             for (int i = 0; i < 1'000; ++i) p.send(piece);
             p.hang();
           })
        .end;
  };
  const std::string piece(1'000, 'a');
  EXPECT_EQ(endless("HTTP/1.1 200 OK\r\n\r\n", piece), ExchangeEnd::too_large);
  EXPECT_EQ(endless("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", piece),
            ExchangeEnd::too_large);
  EXPECT_EQ(endless("HTTP/1.1 200 OK\r\n", "X: " + piece + "\r\n"), ExchangeEnd::too_large);
  std::string interim;
  for (int i = 0; i < 40; ++i) interim += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(endless("", interim), ExchangeEnd::malformed);
  EXPECT_EQ(once([](Peer& p) { p.send(http_answer(200, std::string(kMaxAnswer, 'a'))); }).end,
            ExchangeEnd::complete);
  EXPECT_EQ(once([](Peer& p) { p.send(http_answer(200, std::string(kMaxAnswer + 1, 'a'))); }).end,
            ExchangeEnd::too_large);
}

// The deadline is total: bytes that keep coming do not renew it. Each of these servers would go on
// for minutes.
class HttpClientDeadlineTest : public ::testing::Test {
 protected:
  ExchangeEnd end_within_reason(const std::function<void(Peer&)>& what,
                                const HttpRequest& request = post()) {
    RealClock clock;
    const auto begin = clock.monotonic();
    const auto end = once(what, request, kShort).end;
    const auto took = clock.monotonic() - begin;
    EXPECT_GE(took, kShort);
    EXPECT_LT(took, kLong);
    return end;
  }
};

TEST_F(HttpClientDeadlineTest, CoversAServerThatIsSilent) {
  EXPECT_EQ(end_within_reason([](Peer& p) { p.hang(); }), ExchangeEnd::timed_out);
}

TEST_F(HttpClientDeadlineTest, CoversAStatusLineThatDrips) {
  EXPECT_EQ(end_within_reason([](Peer& p) {
              p.drip("HTTP/1.1 201 " + std::string(400, 'x'), Milliseconds{200});
            }),
            ExchangeEnd::timed_out);
}

TEST_F(HttpClientDeadlineTest, CoversHeadersThatDrip) {
  EXPECT_EQ(end_within_reason([](Peer& p) {
              p.send("HTTP/1.1 201 Created\r\n");
              p.drip("X-Slow: " + std::string(8'000, 'x'), Milliseconds{10});
            }),
            ExchangeEnd::timed_out);
}

TEST_F(HttpClientDeadlineTest, CoversABodyThatDrips) {
  EXPECT_EQ(end_within_reason([](Peer& p) {
              p.send("HTTP/1.1 201 Created\r\nContent-Length: 10000\r\n\r\n");
              p.drip(std::string(10'000, 'x'), Milliseconds{10});
            }),
            ExchangeEnd::timed_out);
}

TEST_F(HttpClientDeadlineTest, CoversChunksThatDrip) {
  EXPECT_EQ(end_within_reason([](Peer& p) {
              p.send("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n");
              for (int i = 0; i < 1'000; ++i) p.drip("1\r\nx\r\n", Milliseconds{5});
            }),
            ExchangeEnd::timed_out);
}

TEST(HttpClientTest, TheDeadlineCoversSendingToAServerThatDoesNotRead) {
  ScriptedServer server([](Peer& peer) { peer.hang(); });
  const auto client = client_of(server.url());
  EXPECT_EQ(client->exchange(post(std::string(12 << 20, 'x')), Milliseconds{2'000}).end,
            ExchangeEnd::timed_out);
}

TEST(HttpClientTest, AConnectionThatBreaksWhileSendingIsTold) {
  ScriptedServer server([](Peer& peer) { peer.reset(); });
  const auto client = client_of(server.url());
  const auto end = client->exchange(post(std::string(32 << 20, 'x')), kLong).end;
  // The reset may arrive before the first byte was taken by the kernel.
  EXPECT_TRUE(end == ExchangeEnd::send_broken || end == ExchangeEnd::not_sent) << to_text(end);
}

TEST(HttpClientTest, ARefusedConnectionSentNothing) {
  std::string url;
  {
    ScriptedServer server([](Peer&) {});
    url = server.url();
  }
  EXPECT_EQ(client_of(url)->exchange(post(), kLong).end, ExchangeEnd::not_sent);
}

TEST(HttpClientTest, ADeadlineThatHasPassedSendsNothing) {
  ScriptedServer server([](Peer& peer) { peer.read_request(); });
  EXPECT_EQ(client_of(server.url())->exchange(post(), Milliseconds{0}).end, ExchangeEnd::not_sent);
  EXPECT_TRUE(server.requests().empty());
}

TEST(HttpClientTest, AConnectThatHangsSentNothing) {
  // A listener whose queue is full answers no further SYN.
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* name = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(listener.get(), name, length), 0);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  ASSERT_EQ(::getsockname(listener.get(), name, &length), 0);
  std::vector<UniqueFd> queue;
  for (int i = 0; i < 8; ++i) {
    queue.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    ::connect(queue.back().get(), name, length);
  }
  const auto client = client_of(fmt::format("http://127.0.0.1:{}", ntohs(address.sin_port)));
  EXPECT_EQ(client->exchange(post(), kShort).end, ExchangeEnd::not_sent);
}

TEST(HttpClientTest, AConnectionIsReused) {
  ScriptedServer server([](Peer& peer) {
    while (peer.read_request()) peer.send(http_answer(201, "{}"));
  });
  const auto client = client_of(server.url());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client->exchange(post(), kLong).status, 201);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 5U);
  for (const auto& request : requests) EXPECT_EQ(request.connection, 1);
}

TEST(HttpClientTest, AKeptConnectionThatTheServerClosedMeanwhileIsNotUsed) {
  RealClock clock;
  ScriptedServer server([](Peer& peer) {
    if (peer.read_request())
      peer.send(http_answer(201, "{}"));  // and closes, without having said so
  });
  const auto client = client_of(server.url());
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(client->exchange(post(), kLong).end, ExchangeEnd::complete) << i;
    ASSERT_TRUE(server.wait_until_closed(i, clock));
  }
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[2].connection, 3);
}

// The keep-alive race: the server reads the second request on a kept connection and closes instead
// of answering. It may have acted on it, so the request must not be written again.
TEST(HttpClientTest, ARequestOnAKeptConnectionThatIsClosedIsNotWrittenAgain) {
  for (const bool hard : {false, true}) {
    ScriptedServer server([&](Peer& peer) {
      if (peer.read_request()) peer.send(http_answer(201, "{}"));
      if (peer.read_request() && hard) peer.reset();
    });
    const auto client = client_of(server.url());
    EXPECT_EQ(client->exchange(post("1"), kLong).end, ExchangeEnd::complete);
    EXPECT_EQ(client->exchange(post("2"), kLong).end, ExchangeEnd::no_answer);
    const auto requests = server.requests();
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_EQ(requests[1].body, "2");
    EXPECT_EQ(requests[1].connection, 1) << "the race needs a kept connection";
  }
}

TEST(HttpClientTest, AConnectionIsNotReusedAfterConnectionClose) {
  ScriptedServer server([](Peer& peer) {
    while (peer.read_request()) peer.send(http_answer(201, "{}", "Connection: close\r\n"));
  });
  const auto client = client_of(server.url());
  client->exchange(post(), kLong);
  client->exchange(post(), kLong);
  EXPECT_EQ(server.requests().back().connection, 2);
}

// A late or second answer on a kept connection would be taken for the answer to the next request.
TEST(HttpClientTest, AConnectionThatSaysMoreThanItWasAskedIsNotReused) {
  ScriptedServer server([](Peer& peer) {
    while (peer.read_request()) {
      peer.send(http_answer(201, peer.request().body) + http_answer(201, "\"stale\""));
    }
  });
  const auto client = client_of(server.url());
  EXPECT_EQ(client->exchange(post("1"), kLong).body, "1");
  EXPECT_EQ(client->exchange(post("2"), kLong).body, "2");
}

TEST(HttpClientTest, NoRedirectIsFollowed) {
  ScriptedServer elsewhere([](Peer& peer) {
    while (peer.read_request()) peer.send(http_answer(201, "{}"));
  });
  for (const int status : {301, 302, 303, 307, 308}) {
    const auto exchange = once([&](Peer& p) {
      p.send(http_answer(status, "", fmt::format("Location: {}/payments\r\n", elsewhere.url())));
    });
    EXPECT_EQ(exchange.end, ExchangeEnd::complete);
    EXPECT_EQ(exchange.status, status);
  }
  EXPECT_TRUE(elsewhere.requests().empty());
}

TEST(HttpClientTest, ADemandForAuthenticationIsNotAnsweredWithASecondRequest) {
  EXPECT_EQ(once([](Peer& p) {
              p.send(http_answer(
                  401, "", "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n"));
            }).status,
            401);
}

TEST(HttpClientTest, RetryAfterIsPassedOn) {
  EXPECT_EQ(once([](Peer& p) { p.send(http_answer(429, "{}", "Retry-After: 7\r\n")); }).retry_after,
            "7");
}

TEST(HttpClientTest, ThreadsGetTheirOwnAnswers) {
  ScriptedServer server([](Peer& peer) {
    while (peer.read_request()) peer.send(http_answer(201, peer.request().body));
  });
  const auto client = client_of(server.url());
  Guarded<int> wrong(0);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 25; ++i) {
          const std::string body = fmt::format("\"{}-{}\"", t, i);
          if (client->exchange(post(body), kLong).body != body) ++*wrong.lock();
        }
      });
    }
  }
  EXPECT_EQ(*wrong.lock(), 0);
  EXPECT_EQ(server.requests().size(), 200U);
}

TEST(HttpClientTest, UrlsAreChecked) {
  RealClock clock;
  for (const char* url :
       {"", "127.0.0.1", "ftp://127.0.0.1", "http://", "http://:80", "http://127.0.0.1:0",
        "http://127.0.0.1:65536", "http://127.0.0.1:x", "http://127.0.0.1:", "http://a b/",
        "http://127.0.0.1/?q=1", "http://user@127.0.0.1", "http://127.0.0.1/#a",
        "http://127.0.0.1\r\nX: 1", "http://[::1", "http://::1"}) {
    const auto client = HttpClient::make(url, clock);
    ASSERT_FALSE(client) << url;
    EXPECT_EQ(client.error().code, ErrorCode::invalid_argument) << url;
    EXPECT_NE(client.error().message.find("http://host[:port][/path]"), std::string::npos);
  }
  for (const char* url : {"http://127.0.0.1", "http://127.0.0.1:80", "http://localhost:1/a/b/",
                          "http://[::1]:80/x"}) {
    EXPECT_TRUE(HttpClient::make(url, clock)) << url;
  }
  EXPECT_EQ(HttpClient::make("https://127.0.0.1", clock).error().code, ErrorCode::unsupported);
  EXPECT_EQ(HttpClient::make("http://no-such-host.invalid", clock).error().code,
            ErrorCode::connection_failed);
}

}  // namespace
}  // namespace onceproof
