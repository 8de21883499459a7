// What passes the proxy, byte by byte, and what it does when either side misbehaves.
#include "proxy/proxy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/digest.h"
#include "net/raw_client.h"
#include "proxy/scripted_upstream.h"

namespace onceproof::proxy {
namespace {

using Peer = ScriptedUpstream::Peer;
using End = net::RawClient::End;

constexpr Milliseconds kShort{300};

TEST_F(ProxyTest, ARequestAndItsReplyPassByteForByte) {
  const std::string whole =
      std::string(
          "PaTCH /a%20b?x=1&x=2 HTTP/1.1\r\nhOST:   some.where:99  \r\nX-B: 2\r\nx-a:1\r\n"
          "X-B:\t3\r\nContent-Encoding: br\r\nContent-Length: 5\r\nEmpty:\r\n\r\n") +
      std::string("h\0llo", 5);
  const std::string reply =
      "HTTP/1.1 299 Quite  Fine\r\nset-cookie: a\r\nX:y\r\nSet-Cookie:  b \r\n"
      "content-length: 3\r\n\r\nabc";
  start([reply](Peer& peer) {
    peer.saw(peer.read_request(5));
    peer.send(reply);
    peer.read_to_end();
  });
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(client.send(whole));
  EXPECT_EQ(client.hear_all(kShort).bytes, reply);
  EXPECT_EQ(upstream_->seen(1), std::vector<std::string>{whole});
  const auto entry = logged(1);
  EXPECT_EQ(entry.status, 299);
  EXPECT_EQ(entry.upstream_status, 299);
  EXPECT_TRUE(entry.delivered);
  EXPECT_EQ(entry.body, std::string("h\0llo", 5));
  EXPECT_EQ(entry.body_sha256, sha256_hex(std::string_view("h\0llo", 5)));
  EXPECT_EQ(entry.route, "PaTCH /a%20b");
}

TEST_F(ProxyTest, ChunksAndTrailersPassWithTheirFraming) {
  const std::string body = "5;ext=\"x\"\r\nhello\r\n00a\r\n0123456789\r\n0\r\nT: 1\r\n\r\n";
  const std::string request =
      "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + body;
  const std::string reply =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: T\r\n\r\n" + body;
  start([reply](Peer& peer) {
    for (int i = 0; i < 2; ++i) {
      peer.saw(peer.read_request("T: 1\r\n\r\n"));
      peer.send(reply);
    }
  });
  net::RawClient client(proxy_->port());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(client.send(request));
    std::string heard;
    while (heard.size() < reply.size()) heard += client.hear_all(Milliseconds{50}).bytes;
    EXPECT_EQ(heard, reply);
  }
  EXPECT_EQ(upstream_->seen(2), (std::vector<std::string>{request, request}));
}

TEST_F(ProxyTest, BothSidesKeepTheirConnection) {
  start(answer_all);
  net::RawClient client(proxy_->port());
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(client.send(net::get("/")));
    EXPECT_EQ(net::body_of(client.hear_reply().value_or("")), fmt::format("answer {}", i));
  }
  net::RawClient other(proxy_->port());  // each client has an upstream connection of its own
  ASSERT_TRUE(other.send(net::get("/")));
  EXPECT_EQ(net::body_of(other.hear_reply().value_or("")), "answer 1");
}

TEST_F(ProxyTest, PipelinedRequestsGoOneAfterTheOther) {
  start(answer_posts(3));
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(
      client.send(net::post("/1", "aaa") + net::post("/2", "bbb") + net::post("/3", "ccc")));
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(net::body_of(client.hear_reply().value_or("")), fmt::format("answer {}", i));
  }
  const auto seen = upstream_->seen(3);
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[2], net::post("/3", "ccc"));
}

TEST_F(ProxyTest, TheHostNamesTheUpstreamOnlyWhenAsked) {
  ProxyOptions options;
  options.upstream_host = true;
  start(answer_all, std::move(options));
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nA: b\r\nHOST:  x \r\nHost2: y\r\n\r\n"));
  ASSERT_TRUE(client.hear_reply().has_value());
  EXPECT_EQ(upstream_->seen(1).at(0),
            fmt::format("GET / HTTP/1.1\r\nA: b\r\nHOST: 127.0.0.1:{}\r\nHost2: y\r\n\r\n",
                        upstream_->port()));
}

TEST_F(ProxyTest, ClosingHeadersEndBothSides) {
  start([](Peer& peer) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
    peer.saw(std::to_string(peer.read_to_end()));
  });
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(client.send(net::get("/")));
  const auto heard = client.hear_all();
  EXPECT_EQ(net::body_of(heard.bytes), "ok");
  EXPECT_EQ(heard.end, End::fin);
  EXPECT_EQ(upstream_->seen(1).at(0), "0");  // and the upstream saw an end
}

TEST_F(ProxyTest, AReplyWithoutLengthEndsWithItsConnection) {
  start([](Peer& peer) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.0 200 OK\r\n\r\nuntil the end");
  });
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(client.send(net::get("/")));
  const auto heard = client.hear_all();
  EXPECT_EQ(heard.bytes, "HTTP/1.0 200 OK\r\n\r\nuntil the end");
  EXPECT_EQ(heard.end, End::fin);
  EXPECT_TRUE(logged(1).delivered);
}

TEST_F(ProxyTest, AHeadOfAnythingHasNoBody) {
  start([](Peer& peer) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n");
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n");
    peer.read_to_end();
  });
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_NE(client.hear_all(kShort).bytes.find("999\r\n\r\n"), std::string::npos);
  ASSERT_TRUE(client.send(net::get("/")));
  EXPECT_TRUE(client.hear_all(kShort).bytes.ends_with("7\r\n\r\n"));
}

TEST_F(ProxyTest, ContinueComesFromTheUpstreamAndABodyFollowsIt) {
  start([](Peer& peer) {
    peer.saw(peer.read_until("\r\n\r\n"));
    peer.send("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Go on\r\n\r\n");
    peer.saw(peer.read_exactly(4));
    peer.send(ok("done"));
    peer.read_to_end();
  });
  net::RawClient client(proxy_->port());
  const std::string head =
      "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
  ASSERT_TRUE(client.send(head));
  EXPECT_EQ(client.hear_all(kShort).bytes,
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Go on\r\n\r\n");
  ASSERT_TRUE(client.send("body"));
  EXPECT_EQ(client.hear_reply().value_or(""), ok("done"));
  EXPECT_EQ(upstream_->seen(2), (std::vector<std::string>{head, "body"}));
}

TEST_F(ProxyTest, AnEarlyReplyComesThoughTheBodyIsNotWhole) {
  start([](Peer& peer) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig");
  });
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nabc"));
  const auto heard = client.hear_all();
  EXPECT_EQ(net::status_of(heard.bytes), 413);
  EXPECT_EQ(net::body_of(heard.bytes), "big");
  EXPECT_EQ(heard.end, End::fin);
}

// Both directions at once, with more than the kernels hold: nobody waits for the other for ever.
TEST_F(ProxyTest, AnEchoStreamsBothWaysAtOnce) {
  static constexpr std::size_t kBytes = 24 << 20;
  start([](Peer& peer) {
    peer.read_until("\r\n\r\n");
    peer.send(fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", kBytes));
    for (std::size_t echoed = 0; echoed < kBytes; echoed += 1 << 16) {
      peer.send(peer.read_exactly(1 << 16));
    }
    peer.read_to_end();
  });
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(
      client.send(fmt::format("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", kBytes)));
  Sha256 sent;
  std::jthread writer([&] {
    for (std::size_t i = 0; i < kBytes >> 16; ++i) {
      const std::string piece(1 << 16, static_cast<char>('a' + i % 26));
      sent.add(piece);
      if (!client.send(piece)) return;
    }
  });
  const auto reply = client.hear_reply().value_or("");
  writer.join();
  ASSERT_EQ(net::body_of(reply).size(), kBytes);
  const auto digest = sent.hex();
  EXPECT_EQ(sha256_hex(net::body_of(reply)), digest);
  EXPECT_EQ(logged(1).body_sha256, digest);
  EXPECT_EQ(logged(1).body.size(), 64U << 10);
}

// Of this process since restart_peak(); Linux, proc(5).
void restart_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}
std::size_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t value = 0;
    if (word == "VmHWM:" && status >> value) return value;
  }
  return 0;
}

// AddressSanitizer keeps up to 256 MiB of what was freed; 400 MiB pass.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kPeakKib = 300 << 10;
#else
constexpr std::size_t kPeakKib = 12 << 10;
#endif

TEST_F(ProxyTest, HugeBodiesPassInFlatMemory) {
  static constexpr std::size_t kBytes = 200 << 20;
  start([](Peer& peer) {
    const auto head = peer.read_until("\r\n\r\n");
    std::size_t total = 0;
    for (; total < kBytes; total += 1 << 16) peer.read_exactly(1 << 16);
    peer.saw(std::to_string(total));
    peer.send(fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", kBytes));
    const std::string piece(1 << 16, 'z');
    for (std::size_t sent = 0; sent < kBytes; sent += piece.size()) peer.send(piece);
    peer.read_to_end();
  });
  restart_peak();
  const std::size_t before = peak_kib();
  ASSERT_GT(before, 0U);
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(
      client.send(fmt::format("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", kBytes)));
  const std::string piece(1 << 16, 'y');
  for (std::size_t sent = 0; sent < kBytes; sent += piece.size()) ASSERT_TRUE(client.send(piece));
  EXPECT_EQ(upstream_->seen(1).at(0), std::to_string(kBytes));
  // Read here without keeping it: RawClient would.
  std::size_t heard = 0;
  while (heard < kBytes) {
    const auto some = client.hear_at_most(1 << 20);
    ASSERT_FALSE(some.empty());
    heard += some.size();
  }
  EXPECT_LT(peak_kib() - before, kPeakKib) << "KiB more than before";
  EXPECT_EQ(logged(1).upstream_status, 200);
}

// The server closes a kept connection while nobody looks: the next request must not fail, and it is
// sent once, for nothing of it was sent before.
TEST_F(ProxyTest, AStaleConnectionIsReplacedBeforeAnythingIsSent) {
  start([](Peer& peer) {
    peer.saw(peer.read_until("\r\n\r\n"));
    peer.send(ok("answer"));
    peer.close();
  });
  net::RawClient client(proxy_->port());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.send(net::get(fmt::format("/{}", i))));
    EXPECT_EQ(net::body_of(client.hear_reply().value_or("")), "answer");
    client.hear_all(Milliseconds{50});  // the upstream's FIN is at the proxy
  }
  EXPECT_EQ(upstream_->seen(3).size(), 3U);
}

// It dies after the request was sent on: whether it was carried out nobody knows, so it is not sent
// again.
TEST_F(ProxyTest, ARequestThatMayHaveArrivedIsNeverRepeated) {
  for (const bool reset : {false, true}) {
    start([reset](Peer& peer) {
      const auto head = peer.read_until("\r\n\r\n");
      if (head.empty()) return;
      peer.saw(head);
      if (head.starts_with("GET /first")) {
        peer.send(ok("first"));
        peer.saw(peer.read_until("\r\n\r\n"));  // on the kept connection
      }
      if (reset) peer.reset();
    });
    net::RawClient client(proxy_->port());
    ASSERT_TRUE(client.send(net::get("/first")));
    ASSERT_TRUE(client.hear_reply().has_value());
    ASSERT_TRUE(client.send(net::get("/second")));
    const auto reply = client.hear_reply().value_or("");
    EXPECT_EQ(net::status_of(reply), 502);
    EXPECT_NE(reply.find("upstream_closed"), std::string::npos);
    EXPECT_EQ(logged(2).status, 502);
    EXPECT_EQ(logged(2).upstream_status, 0);
    EXPECT_EQ(upstream_->seen(2).size(), 2U);
    // The client's connection goes on, and what follows has a new one.
    ASSERT_TRUE(client.send(net::get("/first")));
    EXPECT_EQ(net::body_of(client.hear_reply().value_or("")), "first");
    EXPECT_EQ(upstream_->seen(3).size(), 3U);
    proxy_.reset();
  }
}

TEST_F(ProxyTest, AnUpstreamThatIsNotThereIs502AndNothingWasSent) {
  int port = 0;
  {
    ScriptedUpstream gone(answer_all);
    port = gone.port();
  }
  ProxyOptions options;
  options.upstream = fmt::format("http://127.0.0.1:{}", port);
  start_before(std::move(options));
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(client.send(net::get("/")));
  const auto reply = client.hear_reply().value_or("");
  EXPECT_EQ(net::status_of(reply), 502);
  EXPECT_NE(reply.find("upstream_unreachable"), std::string::npos);
  EXPECT_NE(reply.find("nothing was sent"), std::string::npos);
  EXPECT_EQ(logged(1).disposition, fakes::Disposition::failed);
}

TEST_F(ProxyTest, AnUpstreamThatEndsInMidReplyEndsTheClientTheSameWay) {
  for (const bool reset : {false, true}) {
    start([reset](Peer& peer) {
      peer.read_until("\r\n\r\n");
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart");
      peer.await_acknowledged();
      if (reset) peer.reset();
    });
    net::RawClient client(proxy_->port());
    ASSERT_TRUE(client.send(net::get("/")));
    const auto heard = client.hear_all();
    EXPECT_EQ(heard.end, reset ? End::reset : End::fin);
    EXPECT_TRUE(reset || net::body_of(heard.bytes) == "part") << heard.bytes;
    EXPECT_FALSE(logged(1).delivered);
    EXPECT_FALSE(logged(1).note.empty());
    proxy_.reset();
  }
}

TEST_F(ProxyTest, AResetReplyWithoutLengthDoesNotLookWhole) {
  start([](Peer& peer) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.0 200 OK\r\n\r\npart");
    peer.await_acknowledged();
    peer.reset();
  });
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(client.send(net::get("/")));
  EXPECT_EQ(client.hear_all().end, End::reset);
  EXPECT_FALSE(logged(1).delivered);
}

TEST_F(ProxyTest, AClientThatLeavesInItsBodyEndsTheUpstreamsToo) {
  start([](Peer& peer) {
    peer.read_until("\r\n\r\n");
    peer.saw(std::to_string(peer.read_to_end()));
  });
  for (const bool reset : {false, true}) {
    net::RawClient client(proxy_->port());
    ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n12345"));
    client.hear_all(Milliseconds{50});
    reset ? client.reset() : client.close();
    EXPECT_EQ(upstream_->seen(reset ? 2 : 1).back(), "5");
  }
  proxy_.reset();
}

TEST_F(ProxyTest, AClientThatLeavesInTheReplyIsInTheLog) {
  start([](Peer& peer) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 50000000\r\n\r\n");
    for (int i = 0; i < 50; ++i) peer.send(std::string(1'000'000, 'x'));
    peer.saw("over");
  });
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(client.send(net::get("/")));
  EXPECT_FALSE(client.hear_at_most(1'000).empty());
  client.reset();
  EXPECT_EQ(upstream_->seen(1).size(), 1U);  // its connection ended too
  EXPECT_EQ(logged(1).note, "the client took no more of the reply");
  EXPECT_FALSE(logged(1).delivered);
  proxy_.reset();
}

TEST_F(ProxyTest, ManyClientsDoNotMix) {
  start(answer_posts(8));
  std::vector<std::jthread> clients;
  std::atomic<int> right = 0;
  for (int c = 0; c < 32; ++c) {
    clients.emplace_back([&, c] {
      net::RawClient client(proxy_->port());
      for (int i = 1; i <= 20; ++i) {
        if (!client.send(net::post("/p", fmt::format("{:04}{:04}", c, i)))) return;
        right += client.hear_reply().value_or("") == ok(fmt::format("answer {}", i)) ? 1 : 0;
      }
    });
  }
  clients.clear();
  EXPECT_EQ(right, 32 * 20);
  EXPECT_EQ(proxy_->wire_log().size(), 640U);
}

TEST_F(ProxyTest, AHalfClosedClientStillGetsItsReply) {
  start([](Peer& peer) {
    peer.read_until("\r\n\r\n");
    RealClock().wait_for(Milliseconds{100}, peer.stop);
    peer.send(ok("late"));
    peer.read_to_end();
  });
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(client.send(net::get("/")));
  client.half_close();
  EXPECT_EQ(client.hear_reply().value_or(""), ok("late"));
}

TEST_F(ProxyTest, UpgradesAreRefused) {
  start([](Peer& peer) {
    peer.saw(peer.read_until("\r\n\r\n"));
    peer.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n");
    peer.read_to_end();
  });
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(client.send(net::get("/ws", "Connection: Upgrade\r\nUpgrade: WebSocket\r\n")));
  EXPECT_EQ(net::status_of(client.hear_reply().value_or("")), 501);
  EXPECT_TRUE(upstream_->seen().empty());
  // Others may be ignored by the upstream, so they pass; one that is taken up ends here.
  ASSERT_TRUE(client.send(net::get("/h2", "Connection: Upgrade\r\nUpgrade: h2c\r\n")));
  EXPECT_EQ(net::status_of(client.hear_reply().value_or("")), 501);
  EXPECT_EQ(upstream_->seen(1).size(), 1U);
}

TEST_F(ProxyTest, WhatIsNoHttpIsRefusedOnEitherSide) {
  start([](Peer& peer) {
    peer.read_until("\r\n\r\n");
    peer.send("SSH-2.0-OpenSSH\r\n\r\n");
  });
  net::RawClient strange(proxy_->port());
  ASSERT_TRUE(strange.send("\x16\x03\x01\x02"));
  EXPECT_EQ(net::status_of(strange.hear_all().bytes), 400);
  net::RawClient smuggler(proxy_->port());
  ASSERT_TRUE(smuggler.send(net::post("/", "x", "Transfer-Encoding: chunked\r\n")));
  EXPECT_EQ(net::status_of(smuggler.hear_all().bytes), 400);
  net::RawClient tunnel(proxy_->port());
  ASSERT_TRUE(tunnel.send("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_EQ(net::status_of(tunnel.hear_all().bytes), 400);
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(client.send(net::get("/")));
  const auto reply = client.hear_reply().value_or("");
  EXPECT_EQ(net::status_of(reply), 502);
  EXPECT_NE(reply.find("upstream_malformed"), std::string::npos);
}

TEST_F(ProxyTest, LimitsHold) {
  ProxyOptions options;
  options.limits.request = options.limits.body = options.limits.reply = Milliseconds{150};
  options.limits.reply_head_bytes = 1'000;
  start(
      [](Peer& peer) {
        const auto head = peer.read_until("\r\n\r\n");
        if (head.starts_with("GET /endless")) {
          for (int i = 0; i < 500; ++i) peer.send("HTTP/1.1 102 Processing\r\n\r\n");
        } else if (head.starts_with("GET /head")) {
          peer.send("HTTP/1.1 200 OK\r\nX: " + std::string(2'000, 'x') + "\r\n\r\n");
        }
        peer.read_to_end();
      },
      std::move(options));
  const auto status = [&](const std::string& request) {
    net::RawClient client(proxy_->port());
    EXPECT_TRUE(client.send(request));
    auto heard = client.hear_all().bytes;
    while (heard.starts_with("HTTP/1.1 102")) heard.erase(0, heard.find("\r\n\r\n") + 4);
    return net::status_of(heard);
  };
  EXPECT_EQ(status("GET / HT"), 408);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc"), 408);
  EXPECT_EQ(status(net::get("/silent", "Connection: close\r\n")), 504);
  EXPECT_EQ(status(net::get("/head", "Connection: close\r\n")), 502);
  EXPECT_EQ(status(net::get("/endless", "Connection: close\r\n")), 502);
  EXPECT_EQ(status(net::get("/", "X: " + std::string(40'000, 'x') + "\r\n")), 431);
}

TEST_F(ProxyTest, StopsAtOnceWithOpenConnections) {
  start([](Peer& peer) {
    peer.saw(peer.read_until("\r\n\r\n"));
    peer.read_to_end();
  });
  net::RawClient idle(proxy_->port());
  net::RawClient waiting(proxy_->port());
  ASSERT_TRUE(waiting.send(net::get("/")));
  net::RawClient sending(proxy_->port());
  ASSERT_TRUE(sending.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc"));
  ASSERT_EQ(upstream_->seen(2).size(), 2U);
  const auto begin = clock_.monotonic();
  proxy_.reset();
  EXPECT_LT(clock_.monotonic() - begin, Milliseconds{100});
  EXPECT_EQ(waiting.hear_all().bytes, "");
}

TEST(UpstreamUrlTest, TakesHostsAndPortsOnly) {
  const auto url = parse_upstream_url("HTTPS://[::1]:8443/");
  ASSERT_TRUE(url.has_value());
  EXPECT_TRUE(url->tls);
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->authority, "[::1]:8443");
  EXPECT_EQ(parse_upstream_url("http://example.org")->port, 80);
  EXPECT_EQ(parse_upstream_url("https://example.org:443")->authority, "example.org");
  for (const char* wrong :
       {"", "example.org", "ftp://x", "http://", "http://x/api", "http://u@x", "http://x:0",
        "http://x:y", "http://x:70000", "http://[::1", "http://x y", "http://x?q"}) {
    EXPECT_FALSE(parse_upstream_url(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace onceproof::proxy
