#include "net/request_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace onceproof::net {
namespace {

// Those of httplib that make sense for a service.
constexpr std::array<std::string_view, 7> kMethods{"GET",    "HEAD",    "POST", "PUT",
                                                   "DELETE", "OPTIONS", "PATCH"};

tl::unexpected<Refusal> refuse(int status, std::string_view code, std::string message) {
  return tl::unexpected(Refusal{status, std::string(code), std::move(message)});
}

tl::unexpected<Refusal> malformed(std::string message) {
  return refuse(400, "malformed_request", std::move(message));
}

bool is_visible(char c) {
  return c > 0x20 && c < 0x7f;
}

std::string shown(std::string_view text) {
  return escape_terminal(shorten(text, 60));
}

std::optional<std::string> origin_form(std::string_view target) {
  if (target.starts_with('/')) return std::string(target);
  for (std::string_view scheme : {"http://", "https://"}) {  // absolute form, RFC 9112, 3.2.2
    if (!to_lower(target.substr(0, scheme.size())).starts_with(scheme)) continue;
    const auto path = target.find('/', scheme.size());
    return path == std::string_view::npos ? "/" : std::string(target.substr(path));
  }
  return std::nullopt;
}

Parsed<RequestHead> parse_request_line(std::string_view line, bool any_method) {
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == std::string_view::npos || first == last || first == 0) {
    return malformed(
        fmt::format("'{}' is no request line; write METHOD /path HTTP/1.1", shown(line)));
  }
  RequestHead head;
  head.method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return refuse(505, "http_version_not_supported",
                  fmt::format("'{}' is not spoken here; use HTTP/1.1", shown(version)));
  }
  if (!is_http_token(head.method)) return malformed("the method is no token");
  if (!any_method && std::ranges::find(kMethods, head.method) == kMethods.end()) {
    return refuse(501, "method_not_implemented",
                  fmt::format("method '{}' is unknown; there are: {}", shown(head.method),
                              fmt::join(kMethods, ", ")));
  }
  auto origin = origin_form(target);
  if (!origin || !std::ranges::all_of(target, is_visible)) {
    return malformed(fmt::format("target '{}' must be a path that begins with / and has no spaces",
                                 shown(target)));
  }
  head.target = std::move(*origin);
  head.http_1_0 = version == "HTTP/1.0";
  return head;
}

Parsed<std::pair<std::string, std::string>> parse_field(std::string_view line) {
  const auto colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  if (colon == std::string_view::npos || !is_http_token(name)) {
    return malformed(fmt::format("'{}' is no header; write Name: value", shown(line)));
  }
  const std::string_view value = trim(line.substr(colon + 1));
  const bool control = std::ranges::any_of(value, [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
  if (control) return malformed(fmt::format("header '{}' has a control character", shown(name)));
  return std::pair{std::string(name), std::string(value)};
}

// Where the body ends, or why no one can say. Source: RFC 9112, section 6.
Parsed<void> find_framing(RequestHead& head, std::size_t lengths, const ServerLimits& limits) {
  const auto coding = head.headers.find("transfer-encoding");
  if (coding != head.headers.end()) {
    if (lengths > 0) return malformed("Transfer-Encoding and Content-Length contradict each other");
    if (head.http_1_0) return malformed("HTTP/1.0 has no Transfer-Encoding");
    if (to_lower(coding->second) != "chunked") {
      return refuse(501, "transfer_encoding_not_implemented",
                    "Transfer-Encoding must be chunked alone");
    }
    head.chunked = true;
    return {};
  }
  if (lengths == 0) return {};
  const std::string& digits = head.headers["content-length"];
  const bool number = !digits.empty() && digits.size() <= 18 &&
                      std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  if (lengths > 1 || !number) {
    return malformed(fmt::format("Content-Length '{}' is not one whole number", shown(digits)));
  }
  head.content_length = std::stoull(digits);
  if (head.content_length > limits.body_bytes) {
    return refuse(413, "body_too_large",
                  fmt::format("the body has {} bytes; at most {} are taken", head.content_length,
                              limits.body_bytes));
  }
  return {};
}

Parsed<void> apply_headers(RequestHead& head, std::size_t hosts, bool any_coding) {
  const auto value = [&](const char* name) {
    const auto it = head.headers.find(name);
    return it == head.headers.end() ? std::string{} : it->second;
  };
  if (hosts > 1 || (hosts == 0 && !head.http_1_0)) {
    return malformed("HTTP/1.1 wants exactly one Host header");
  }
  const std::string connection = value("connection");
  head.keep_alive = head.http_1_0 ? lists(connection, "keep-alive") : !lists(connection, "close");
  if (const auto coding = to_lower(value("content-encoding"));
      !any_coding && !coding.empty() && coding != "identity") {
    return refuse(415, "content_encoding_not_supported",
                  "the body must be sent as it is, without Content-Encoding");
  }
  const std::string expect = value("expect");
  head.expects_continue = !head.http_1_0 && to_lower(expect) == "100-continue";
  if (!expect.empty() && !head.expects_continue && !head.http_1_0) {
    return refuse(417, "expectation_failed", "Expect knows only 100-continue");
  }
  return {};
}

}  // namespace

bool lists(std::string_view value, std::string_view token) {
  const std::string text = to_lower(value);
  for (std::string_view rest = text;;) {
    const auto comma = rest.find(',');
    if (trim(rest.substr(0, comma)) == token) return true;
    if (comma == std::string_view::npos) return false;
    rest.remove_prefix(comma + 1);
  }
}

Parsed<RequestHead> parse_request_head(std::string_view text, const ServerLimits& limits) {
  auto end = text.find("\r\n");
  auto head = parse_request_line(text.substr(0, end), limits.passes_on);
  if (!head) return head;
  std::size_t count = 0, lengths = 0, hosts = 0;
  while (end != std::string_view::npos) {
    text.remove_prefix(end + 2);
    end = text.find("\r\n");
    if (text.empty()) break;
    auto field = parse_field(text.substr(0, end));
    if (!field) return tl::unexpected(field.error());
    if (++count > limits.headers) {
      return refuse(431, "too_many_headers", fmt::format("at most {} are taken", limits.headers));
    }
    const std::string name = to_lower(field->first);
    lengths += name == "content-length" ? 1 : 0;
    hosts += name == "host" ? 1 : 0;
    auto [it, fresh] = head->headers.emplace(name, field->second);
    if (!fresh) it->second += ", " + field->second;
    head->lines.push_back(std::move(*field));
  }
  if (auto framed = find_framing(*head, lengths, limits); !framed) {
    return tl::unexpected(framed.error());
  }
  if (auto applied = apply_headers(*head, hosts, limits.passes_on); !applied) {
    return tl::unexpected(applied.error());
  }
  return head;
}

Parsed<std::uint64_t> parse_chunk_size(std::string_view line) {
  const std::string_view digits = trim(line.substr(0, line.find(';')));
  std::uint64_t size = 0;
  if (digits.empty() || digits.size() > 15) return malformed("a chunk begins with its size in hex");
  for (const char c : digits) {
    const auto digit = std::string_view("0123456789abcdef").find(to_lower({&c, 1}));
    if (digit == std::string_view::npos) return malformed("a chunk begins with its size in hex");
    size = size * 16 + digit;
  }
  return size;
}

}  // namespace onceproof::net
