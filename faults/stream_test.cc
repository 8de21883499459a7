// Each ending, observed byte by byte by a client that is a bare socket.
#include "faults/stream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/guarded.h"
#include "faults/server.h"
#include "net/raw_client.h"

namespace onceproof::faults {
namespace {

using net::body_of;
using net::get;
using net::post;
using net::RawClient;
using net::status_of;

using End = RawClient::End;

// A server whose one handler does what the test says.
constexpr std::size_t kTooMuch = 16 << 20;  // more than any socket's buffers hold

class StreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    HttpHandlers handlers;
    handlers.serve = [this](const HttpRequest& request, std::stop_token) {
      seen_.lock()->push_back(request);
      return decide_(request);
    };
    auto server = HttpServer::start({}, std::move(handlers), clock_);
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = std::move(*server);
  }

  static Decision answer(std::string body) {
    Decision decision;
    decision.reply.body = std::move(body);
    return decision;
  }
  static Decision ending(Ending ending) {
    Decision decision;
    decision.ending = ending;
    return decision;
  }
  // Waits for real: connections begin and end in threads of their own.
  bool all_connections_end() {
    const auto over = [&] { return !seen_.lock()->empty() && server_->connections() == 0; };
    for (int i = 0; i < 20'000 && !over(); ++i) clock_.wait_for(Milliseconds{1});
    return over();
  }

  RealClock clock_;
  std::function<Decision(const HttpRequest&)> decide_ = [](const HttpRequest&) {
    return answer("{}");
  };
  Guarded<std::vector<HttpRequest>> seen_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(StreamTest, AnswerIsTheExactReplyAndTheConnectionStays) {
  decide_ = [](const HttpRequest&) {
    Decision decision = answer(R"({"id":1})");
    decision.reply.status = 201;
    decision.reply.headers = {{"Idempotent-Replayed", "true"}};
    return decision;
  };
  RawClient client(server_->port());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(client.send(post("/payments", "{}")));
    EXPECT_EQ(client.hear_reply(),
              "HTTP/1.1 201 Created\r\nContent-Length: 8\r\nContent-Type: application/json\r\n"
              "Idempotent-Replayed: true\r\nKeep-Alive: timeout=300, max=1000000\r\n\r\n"
              R"({"id":1})");
  }
  const auto seen = *seen_.lock();
  EXPECT_EQ(seen[0].connection, seen[1].connection);
}

TEST_F(StreamTest, CloseIsFinWithoutAByte) {
  decide_ = [](const HttpRequest&) { return ending(Ending::close); };
  RawClient client(server_->port());
  ASSERT_TRUE(client.send(post("/payments", "{}")));
  const auto heard = client.hear_all();
  EXPECT_EQ(heard.bytes, "");
  EXPECT_EQ(heard.end, End::fin);
}

TEST_F(StreamTest, CloseIsFinAlsoWithUnreadInputBehindTheRequest) {
  decide_ = [](const HttpRequest&) { return ending(Ending::close); };
  RawClient client(server_->port());
  ASSERT_TRUE(client.send(post("/payments", "{}") + std::string(100'000, 'x')));
  const auto heard = client.hear_all();
  EXPECT_EQ(heard.bytes, "");
  EXPECT_EQ(heard.end, End::fin);
}

TEST_F(StreamTest, ResetIsRstWithoutAByte) {
  decide_ = [](const HttpRequest&) { return ending(Ending::reset); };
  RawClient client(server_->port());
  ASSERT_TRUE(client.send(post("/payments", "{}")));
  const auto heard = client.hear_all();
  EXPECT_EQ(heard.bytes, "");
  EXPECT_EQ(heard.end, End::reset);
}

TEST_F(StreamTest, HangIsSilenceUntilTheClientGivesUp) {
  decide_ = [](const HttpRequest&) { return ending(Ending::hang); };
  RawClient client(server_->port());
  ASSERT_TRUE(client.send(post("/payments", "{}")));
  const auto heard = client.hear_all(Milliseconds{150});
  EXPECT_EQ(heard.bytes, "");
  EXPECT_EQ(heard.end, End::silence);
  EXPECT_EQ(server_->connections(), 1U);
  client.close();
  EXPECT_TRUE(all_connections_end());
}

TEST_F(StreamTest, HangEndsWhenTheClientResets) {
  decide_ = [](const HttpRequest&) { return ending(Ending::hang); };
  RawClient client(server_->port());
  ASSERT_TRUE(client.send(post("/payments", "{}")));
  EXPECT_EQ(client.hear_all(Milliseconds{50}).end, End::silence);
  client.reset();
  EXPECT_TRUE(all_connections_end());
}

TEST_F(StreamTest, HangHasABound) {
  HttpHandlers handlers;
  handlers.serve = [](const HttpRequest&, std::stop_token) { return ending(Ending::hang); };
  ServerOptions options;
  options.limits.hang = Milliseconds{30};
  auto server = HttpServer::start(options, std::move(handlers), clock_).value();
  RawClient client(server->port());
  ASSERT_TRUE(client.send(post("/payments", "{}")));
  const auto heard = client.hear_all();
  EXPECT_EQ(heard.bytes, "");
  EXPECT_EQ(heard.end, End::fin);
}

TEST_F(StreamTest, AStopEndsAHangAtOnceWithFin) {
  decide_ = [](const HttpRequest&) { return ending(Ending::hang); };
  RawClient client(server_->port());
  ASSERT_TRUE(client.send(post("/payments", "{}")));
  EXPECT_EQ(client.hear_all(Milliseconds{50}).end, End::silence);
  const auto before = clock_.monotonic();
  server_.reset();
  EXPECT_LT(clock_.monotonic() - before, Milliseconds{5'000});  // the hang's own bound is 600 s
  EXPECT_EQ(client.hear_all().end, End::fin);
}

TEST_F(StreamTest, AfterTheLastByteComesFin) {
  decide_ = [](const HttpRequest&) {
    Decision decision = answer("{}");
    decision.before_last_byte = [] { return AfterReply{Ending::close, nullptr}; };
    return decision;
  };
  RawClient client(server_->port());
  ASSERT_TRUE(client.send(post("/payments", "{}")));
  const auto heard = client.hear_all();
  EXPECT_EQ(body_of(heard.bytes), "{}");
  EXPECT_EQ(heard.end, End::fin);
}

TEST_F(StreamTest, AfterTheLastByteComesRst) {
  decide_ = [](const HttpRequest&) {
    Decision decision = answer("{}");
    decision.before_last_byte = [] { return AfterReply{Ending::reset, nullptr}; };
    return decision;
  };
  RawClient client(server_->port());
  ASSERT_TRUE(client.send(post("/payments", "{}")));
  const auto heard = client.hear_all();
  EXPECT_EQ(body_of(heard.bytes), "{}");
  EXPECT_EQ(heard.end, End::reset);
}

TEST_F(StreamTest, WhatIsRecordedBeforeTheLastByteIsNeverLate) {
  std::atomic<int> recorded = 0;
  decide_ = [&](const HttpRequest&) {
    Decision decision = answer("{}");
    decision.before_last_byte = [&recorded] {
      ++recorded;
      return AfterReply{};
    };
    return decision;
  };
  RawClient client(server_->port());
  for (int i = 1; i <= 500; ++i) {
    ASSERT_TRUE(client.send(post("/payments", "{}")));
    ASSERT_TRUE(client.hear_reply().has_value());
    ASSERT_EQ(recorded, i);
  }
}

TEST_F(StreamTest, TheActionRunsWhenTheLastByteIsOut) {
  Guarded<std::optional<std::string>> heard;
  RawClient client(server_->port());
  decide_ = [&](const HttpRequest&) {
    Decision decision = answer("{}");
    decision.before_last_byte = [&] {
      return AfterReply{Ending::close, [&] { *heard.lock() = client.hear_reply(); }};
    };
    return decision;
  };
  ASSERT_TRUE(client.send(post("/payments", "{}")));
  EXPECT_TRUE(all_connections_end());
  ASSERT_TRUE(heard.lock()->has_value());  // it was there while the server's thread was in it
  EXPECT_EQ(body_of(**heard.lock()), "{}");
}

TEST_F(StreamTest, ABrokenConnectionIsReported) {
  std::atomic<int> broken = 0, finished = 0;
  std::atomic<std::size_t> bytes = 0;
  decide_ = [&](const HttpRequest&) {
    Decision decision = answer(std::string(kTooMuch, 'x'));
    decision.on_broken = [&](std::size_t sent) {
      bytes = sent;
      ++broken;
    };
    decision.before_last_byte = [&] {
      ++finished;
      return AfterReply{};
    };
    return decision;
  };
  RawClient client(server_->port());
  ASSERT_TRUE(client.send(post("/payments", "{}")));
  EXPECT_EQ(client.hear_all(Milliseconds{0}).end, End::silence);
  client.reset();
  EXPECT_TRUE(all_connections_end());
  EXPECT_EQ(broken, 1);
  EXPECT_EQ(finished, 0);
  EXPECT_LT(bytes, kTooMuch);
}

TEST_F(StreamTest, AnExceptionOfTheHandlerIsA500WithoutItsText) {
  decide_ = [](const HttpRequest&) -> Decision { throw std::runtime_error("secret"); };
  RawClient client(server_->port());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(client.send(post("/payments", "{}")));
    const auto reply = client.hear_reply().value_or("");
    EXPECT_EQ(status_of(reply), 500);
    EXPECT_EQ(reply.find("secret"), std::string::npos);
  }
}

TEST_F(StreamTest, TheRequestIsHandedOnAsItTravelled) {
  RawClient client(server_->port());
  ASSERT_TRUE(client.send(post("/pay%6Dents?reference=a%20b&x=1?2&reference=c#frag", "{\"a\":1}",
                               "Idempotency-Key: op_%31\r\nRange: bytes=0-1\r\n"
                               "Accept-Encoding: gzip, br\r\n")));
  const auto reply = client.hear_reply().value_or("");
  EXPECT_EQ(status_of(reply), 200);  // neither 206 nor compressed
  EXPECT_EQ(body_of(reply), "{}");
  const HttpRequest request = seen_.lock()->at(0);
  EXPECT_EQ(request.target, "/pay%6Dents?reference=a%20b&x=1?2&reference=c#frag");
  EXPECT_EQ(request.path, "/payments");
  EXPECT_EQ(request.query.count("reference"), 2U);
  EXPECT_EQ(request.query.find("reference")->second, "a b");
  EXPECT_EQ(request.query.find("x")->second, "1?2");
  EXPECT_EQ(request.header("idempotency-key"), "op_%31");
  EXPECT_EQ(request.header("range"), "bytes=0-1");
  EXPECT_EQ(request.body, "{\"a\":1}");
}

TEST_F(StreamTest, ConnectionCloseIsHonoured) {
  RawClient client(server_->port());
  ASSERT_TRUE(client.send(get("/health", "Connection: close\r\n")));
  const auto heard = client.hear_all();
  EXPECT_EQ(status_of(heard.bytes), 200);
  EXPECT_NE(heard.bytes.find("Connection: close\r\n"), std::string::npos);
  EXPECT_EQ(heard.end, End::fin);
}

TEST_F(StreamTest, PipelinedRequestsAreAnsweredInOrder) {
  decide_ = [](const HttpRequest& request) { return answer(request.path); };
  RawClient client(server_->port());
  ASSERT_TRUE(client.send(get("/1") + post("/2", "body") + "\r\n" + get("/3")));
  for (const auto* path : {"/1", "/2", "/3"}) {
    EXPECT_EQ(body_of(client.hear_reply().value_or("")), path);
  }
}

}  // namespace
}  // namespace onceproof::faults
