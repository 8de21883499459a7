#include "net/request_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace onceproof::net {
namespace {

constexpr std::size_t kChunkLineBytes = 256;
constexpr int kLeadingEmptyLines = 2;  // RFC 9112, section 2.2: some clients end a body with CRLF

tl::unexpected<Refusal> silently() {
  return tl::unexpected(Refusal{0, {}, {}});
}

tl::unexpected<Refusal> refuse(int status, std::string_view code, std::string message) {
  return tl::unexpected(Refusal{status, std::string(code), std::move(message)});
}

// A request line is visible ASCII and spaces: a TLS handshake or a binary protocol shows at once.
bool is_text(std::string_view line) {
  return std::ranges::all_of(line, [](char c) { return c >= 0x20 && c < 0x7f; });
}

}  // namespace

Parsed<void> RequestReader::fill() {
  switch (connection_.socket().read_some(buffer_, deadline_)) {
    case Socket::Arrival::bytes:
      return {};
    case Socket::Arrival::closed:
      return silently();
    case Socket::Arrival::timed_out:
      break;
  }
  return refuse(408, "request_timeout",
                fmt::format("the request was not whole within {}", to_text(limits_.request)));
}

// One line without its CRLF, taken from the buffer.
Parsed<std::string> RequestReader::read_line(std::size_t limit, int status, std::string_view code) {
  std::size_t from = 0;
  for (;;) {
    const auto newline = buffer_.find('\n', from);
    if (newline == std::string::npos ? buffer_.size() > limit : newline > limit) {
      return refuse(status, code, fmt::format("a line has more than {} bytes", limit));
    }
    if (newline != std::string::npos) {
      if (newline == 0 || buffer_[newline - 1] != '\r') {
        return refuse(400, "malformed_request", "a line must end in CRLF, not in LF alone");
      }
      std::string line = buffer_.substr(0, newline - 1);
      buffer_.erase(0, newline + 1);
      return line;
    }
    from = buffer_.size();
    if (auto filled = fill(); !filled) return tl::unexpected(filled.error());
  }
}

Parsed<std::string> RequestReader::read_head() {
  std::string head;
  for (int empty = 0; head.empty(); ++empty) {
    // Looked at before the line is whole, so that a stranger need not wait for the time-out.
    const auto end = std::min(buffer_.find('\r'), buffer_.find('\n'));
    if (empty > kLeadingEmptyLines || !is_text(std::string_view(buffer_).substr(0, end))) {
      return refuse(400, "malformed_request", "this is not HTTP; write METHOD /path HTTP/1.1");
    }
    auto line = read_line(limits_.request_line_bytes, 414, "target_too_long");
    if (!line) return line;
    if (!is_text(*line)) {
      return refuse(400, "malformed_request", "the request line has a control character");
    }
    head = std::move(*line);
  }
  for (;;) {
    const std::size_t left = limits_.head_bytes - std::min(limits_.head_bytes, head.size());
    auto line = read_line(left, 431, "headers_too_large");
    if (!line) return line;
    if (line->empty()) return head;
    head += "\r\n" + *line;
  }
}

Parsed<std::string> RequestReader::take(std::size_t bytes) {
  while (buffer_.size() < bytes) {
    if (auto filled = fill(); !filled) return tl::unexpected(filled.error());
  }
  std::string taken = buffer_.substr(0, bytes);
  buffer_.erase(0, bytes);
  return taken;
}

// Source: RFC 9112, section 7.1.
Parsed<std::string> RequestReader::read_chunks() {
  std::string body;
  for (;;) {
    auto line = read_line(kChunkLineBytes, 400, "malformed_request");
    if (!line) return line;
    const auto size = parse_chunk_size(*line);
    if (!size) return tl::unexpected(size.error());
    if (*size == 0) break;
    if (*size > limits_.body_bytes - body.size()) {
      return refuse(413, "body_too_large",
                    fmt::format("the body has more than {} bytes", limits_.body_bytes));
    }
    auto bytes = take(static_cast<std::size_t>(*size));
    if (!bytes) return bytes;
    body += *bytes;
    auto end = read_line(kChunkLineBytes, 400, "malformed_request");
    if (!end) return end;
    if (!end->empty()) return refuse(400, "malformed_request", "a chunk is longer than its size");
  }
  for (std::size_t i = 0; i <= limits_.headers; ++i) {  // trailers are read and dropped
    auto trailer = read_line(limits_.request_line_bytes, 431, "headers_too_large");
    if (!trailer) return trailer;
    if (trailer->empty()) return body;
  }
  return refuse(431, "too_many_headers", fmt::format("at most {} are taken", limits_.headers));
}

Parsed<std::string> RequestReader::read_body(const RequestHead& head) {
  const bool has_body = head.chunked || head.content_length > 0;
  if (has_body && head.expects_continue && buffer_.empty()) {
    connection_.socket().write("HTTP/1.1 100 Continue\r\n\r\n", deadline_);
  }
  return head.chunked ? read_chunks() : take(static_cast<std::size_t>(head.content_length));
}

bool RequestReader::await_first_byte() {
  deadline_ = clock_.monotonic() + limits_.idle;
  connection_.idle();
  if (buffer_.empty() && !fill()) return false;
  connection_.busy();
  deadline_ = clock_.monotonic() + limits_.request;
  return true;
}

std::variant<HeadOnly, RefusedRequest, NoRequest> RequestReader::next_head() {
  if (!await_first_byte()) return NoRequest{};
  auto text = read_head();
  if (!text) {
    if (text.error().status == 0) return NoRequest{};
    return RefusedRequest{{}, text.error()};
  }
  auto parsed = parse_request_head(*text, limits_);
  if (!parsed) {
    RequestHead head;
    const std::string line = text->substr(0, text->find("\r\n"));
    const auto first = line.find(' ');
    head.method = line.substr(0, first);
    if (first != std::string::npos)
      head.target = line.substr(first + 1, line.rfind(' ') - first - 1);
    return RefusedRequest{std::move(head), parsed.error()};
  }
  return HeadOnly{std::move(*parsed), std::move(*text) + "\r\n\r\n"};
}

std::variant<WholeRequest, RefusedRequest, NoRequest> RequestReader::next() {
  auto next = next_head();
  if (auto* refused = std::get_if<RefusedRequest>(&next)) return std::move(*refused);
  if (!std::holds_alternative<HeadOnly>(next)) return NoRequest{};
  RequestHead head = std::move(std::get<HeadOnly>(next).head);
  auto body = read_body(head);
  if (body) return WholeRequest{std::move(head), std::move(*body)};
  if (body.error().status == 0) return NoRequest{};
  return RefusedRequest{std::move(head), body.error()};
}

}  // namespace onceproof::net
