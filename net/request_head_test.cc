#include "net/request_head.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace onceproof::net {
namespace {

Parsed<RequestHead> parse(std::string_view line, std::string_view headers = "Host: a") {
  return parse_request_head(fmt::format("{}\r\n{}", line, headers), ServerLimits{});
}

int status_of(std::string_view line, std::string_view headers = "Host: a") {
  const auto head = parse(line, headers);
  return head ? 0 : head.error().status;
}

TEST(RequestHeadTest, ReadsLineAndHeaders) {
  const auto head = parse("POST /payments?a=1?b HTTP/1.1",
                          "Host: a\r\nIdempotency-Key:  op_%201 \r\nX: 1\r\nx: 2\r\nEmpty:\r\n"
                          "Content-Length: 12");
  ASSERT_TRUE(head.has_value()) << head.error().message;
  EXPECT_EQ(head->method, "POST");
  EXPECT_EQ(head->target, "/payments?a=1?b");
  EXPECT_EQ(head->headers.at("idempotency-key"), "op_%201");
  EXPECT_EQ(head->headers.at("x"), "1, 2");
  EXPECT_EQ(head->headers.at("empty"), "");
  EXPECT_EQ(head->content_length, 12U);
  EXPECT_TRUE(head->keep_alive);
}

TEST(RequestHeadTest, AbsoluteFormLosesItsAuthority) {
  EXPECT_EQ(parse("GET http://127.0.0.1:80/a?b HTTP/1.1")->target, "/a?b");
  EXPECT_EQ(parse("GET HTTP://host HTTP/1.1")->target, "/");
  EXPECT_EQ(status_of("OPTIONS * HTTP/1.1"), 400);
  EXPECT_EQ(status_of("GET ftp://host/ HTTP/1.1"), 400);
}

TEST(RequestHeadTest, RefusesRequestLinesThatAreNone) {
  for (const auto* line : {"", " ", "GET", "GET /", "GET / ", " / HTTP/1.1", "GET  HTTP/1.1",
                           "GET a HTTP/1.1", "GET /a b HTTP/1.1", "G(T / HTTP/1.1"}) {
    EXPECT_GE(status_of(line), 400) << line;
  }
  EXPECT_EQ(status_of("GET / HTTP/2.0"), 505);
  EXPECT_EQ(status_of("GET / http/1.1"), 505);
  EXPECT_EQ(status_of("BREW / HTTP/1.1"), 501);
  EXPECT_EQ(status_of("CONNECT a:443 HTTP/1.1"), 501);
}

TEST(RequestHeadTest, RefusesHeadersThatTwoParsersWouldReadInTwoWays) {
  const auto refused = [](std::string_view headers) {
    return status_of("POST / HTTP/1.1", fmt::format("Host: a\r\n{}", headers));
  };
  EXPECT_EQ(refused("Name : 1"), 400);
  EXPECT_EQ(refused(" folded"), 400);
  EXPECT_EQ(refused("no colon"), 400);
  EXPECT_EQ(refused(": no name"), 400);
  EXPECT_EQ(refused("A: 1\x01"), 400);
  EXPECT_EQ(refused("A: 1\r2"), 400);
  EXPECT_EQ(refused("Content-Length: 1\r\nContent-Length: 2"), 400);
  EXPECT_EQ(refused("Content-Length: 1\r\nContent-Length: 1"), 400);
  EXPECT_EQ(refused("Content-Length: 1, 1"), 400);
  EXPECT_EQ(refused("Content-Length: -1"), 400);
  EXPECT_EQ(refused("Content-Length: 1x"), 400);
  EXPECT_EQ(refused("Content-Length:"), 400);
  EXPECT_EQ(refused("Content-Length: 99999999999999999999"), 400);
  EXPECT_EQ(refused("Content-Length: 3\r\nTransfer-Encoding: chunked"), 400);
  EXPECT_EQ(refused("Transfer-Encoding: gzip, chunked"), 501);
  EXPECT_EQ(refused("Host: b"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1", "X: 1"), 400);  // no Host
  EXPECT_EQ(refused("Content-Encoding: gzip"), 415);
  EXPECT_EQ(refused("Expect: 200-ok"), 417);
  EXPECT_EQ(refused("Content-Length: 1048577"), 413);
  EXPECT_EQ(refused("Content-Length: 1048576"), 0);
}

TEST(RequestHeadTest, CountsHeaders) {
  std::string headers = "Host: a";
  for (int i = 1; i < 100; ++i) headers += fmt::format("\r\nX-{}: 1", i);
  EXPECT_EQ(status_of("GET / HTTP/1.1", headers), 0);
  EXPECT_EQ(status_of("GET / HTTP/1.1", headers + "\r\nX-100: 1"), 431);
}

TEST(RequestHeadTest, KnowsWhetherTheConnectionStays) {
  EXPECT_FALSE(parse("GET / HTTP/1.1", "Host: a\r\nConnection: Upgrade, Close")->keep_alive);
  EXPECT_TRUE(parse("GET / HTTP/1.1", "Host: a\r\nConnection: closed")->keep_alive);
  EXPECT_FALSE(parse("GET / HTTP/1.0", "X: 1")->keep_alive);
  EXPECT_TRUE(parse("GET / HTTP/1.0", "Connection: keep-alive")->keep_alive);
}

TEST(RequestHeadTest, ReadsBodyHeaders) {
  const auto head =
      parse("POST / HTTP/1.1", "Host: a\r\nTransfer-Encoding: Chunked\r\nExpect: 100-Continue");
  ASSERT_TRUE(head.has_value());
  EXPECT_TRUE(head->chunked);
  EXPECT_TRUE(head->expects_continue);
  EXPECT_EQ(status_of("POST / HTTP/1.0", "Transfer-Encoding: chunked"), 400);
}

TEST(RequestHeadTest, ReadsChunkSizes) {
  EXPECT_EQ(parse_chunk_size("1aF").value(), 0x1afU);
  EXPECT_EQ(parse_chunk_size("0").value(), 0U);
  EXPECT_EQ(parse_chunk_size("10 ;name=value").value(), 16U);
  for (const auto* line : {"", ";a", "x", "0x10", "-1", "1000000000000000"}) {
    EXPECT_FALSE(parse_chunk_size(line).has_value()) << line;
  }
}

}  // namespace
}  // namespace onceproof::net
