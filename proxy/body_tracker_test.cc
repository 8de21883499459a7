#include "proxy/body_tracker.h"

#include <gtest/gtest.h>

#include "proxy/reply_head.h"

namespace onceproof::proxy {
namespace {

constexpr std::string_view kChunked =
    "5;why=not\r\nhello\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n";

TEST(BodyTrackerTest, TakesExactlyTheLength) {
  auto tracker = BodyTracker::of_length(5);
  EXPECT_EQ(tracker.take("hel"), 3U);
  EXPECT_FALSE(tracker.done());
  EXPECT_EQ(tracker.take("loGET / "), 2U);
  EXPECT_TRUE(tracker.done());
  EXPECT_TRUE(BodyTracker::none().done());
}

TEST(BodyTrackerTest, FindsTheEndOfChunksWhereverTheBytesAreCut) {
  const std::string text = std::string(kChunked) + "NEXT";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    auto tracker = BodyTracker::chunked();
    std::size_t used = tracker.take(std::string_view(text).substr(0, cut));
    used += tracker.take(std::string_view(text).substr(used));
    EXPECT_EQ(used, kChunked.size()) << cut;
    EXPECT_TRUE(tracker.done()) << cut << tracker.broken();
  }
  auto single = BodyTracker::chunked();
  for (const char c : kChunked) EXPECT_EQ(single.take({&c, 1}), 1U);
  EXPECT_TRUE(single.done());
}

TEST(BodyTrackerTest, BrokenChunksAreToldAndTakeNoMore) {
  for (const std::string_view wrong :
       {"zz\r\n", "5\nhello", "5\r\nhelloo\r\n", "\r\n", "-1\r\n", "ffffffffffffffffff\r\n"}) {
    auto tracker = BodyTracker::chunked();
    tracker.take(wrong);
    EXPECT_FALSE(tracker.broken().empty()) << wrong;
    EXPECT_FALSE(tracker.done()) << wrong;
    EXPECT_EQ(tracker.take("0\r\n\r\n"), 0U) << wrong;
  }
  auto endless = BodyTracker::chunked();
  for (int i = 0; i < 10 && endless.broken().empty(); ++i) endless.take(std::string(1'000, '1'));
  EXPECT_FALSE(endless.broken().empty());
  auto trailers = BodyTracker::chunked();
  trailers.take("0\r\n");
  const std::string line = "X: " + std::string(1'000, 'y') + "\r\n";
  for (int i = 0; i < 100 && trailers.broken().empty(); ++i) trailers.take(line);
  EXPECT_FALSE(trailers.broken().empty());
}

TEST(ReplyHeadTest, KnowsWhereTheBodyEnds) {
  const auto body_of = [](std::string_view text, std::string_view method = "GET") {
    auto head = parse_reply_head(text, method);
    EXPECT_TRUE(head.has_value()) << text;
    return head.value_or(ReplyHead{}).body;
  };
  EXPECT_FALSE(body_of("HTTP/1.1 200 OK\r\ncontent-LENGTH:  3 \r\n\r\n").done());
  EXPECT_TRUE(body_of("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "HEAD").done());
  EXPECT_TRUE(body_of("HTTP/1.1 204\r\n\r\n").done());
  EXPECT_TRUE(body_of("HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n").done());
  EXPECT_TRUE(body_of("HTTP/1.1 100 Continue\r\n\r\n").done());
  EXPECT_TRUE(body_of("HTTP/1.1 200 OK\r\n\r\n").ends_with_connection());
  EXPECT_FALSE(body_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n").done());
}

TEST(ReplyHeadTest, KnowsWhetherTheConnectionGoesOn) {
  const auto keeps = [](std::string_view text) {
    return parse_reply_head(text, "GET").value_or(ReplyHead{}).keep_alive;
  };
  EXPECT_TRUE(keeps("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x, Close\r\n\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_TRUE(keeps("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.1 200 OK\r\n\r\n"));
}

TEST(ReplyHeadTest, RefusesWhatCanBeReadInTwoWays) {
  for (const std::string_view wrong :
       {"HTTP/2 200\r\n\r\n", "HTTP/1.1 20\r\n\r\n", "HTTP/1.1 2000 x\r\n\r\n", "SSH-2.0-x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\n", "HTTP/1.1 200 OK\r\n folded\r\n\r\n"}) {
    EXPECT_FALSE(parse_reply_head(wrong, "GET").has_value()) << wrong;
  }
}

}  // namespace
}  // namespace onceproof::proxy
