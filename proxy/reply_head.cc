#include "proxy/reply_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "net/request_head.h"

namespace onceproof::proxy {
namespace {

tl::unexpected<Error> wrong(std::string message) {
  return fail(ErrorCode::parse_failed, "the upstream's reply: " + std::move(message));
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

struct Fields {
  std::map<std::string, std::string> values;  // lower-case names; repeated ones joined by ", "
  std::size_t lengths = 0;
};

Result<Fields> parse_fields(std::string_view text) {
  Fields fields;
  while (text != "\r\n") {
    const auto end = text.find("\r\n");
    if (end == std::string_view::npos) return wrong("a header line must end in CRLF");
    const std::string_view line = text.substr(0, end);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || !is_http_token(line.substr(0, colon))) {
      return wrong(fmt::format("'{}' is no header line", escape_terminal(shorten(line, 60))));
    }
    const std::string name = to_lower(line.substr(0, colon));
    const std::string value(trim(line.substr(colon + 1)));
    fields.lengths += name == "content-length" ? 1 : 0;
    auto [it, fresh] = fields.values.emplace(name, value);
    if (!fresh) it->second += ", " + value;
    text.remove_prefix(end + 2);
  }
  return fields;
}

Result<BodyTracker> find_body(const Fields& fields, int status, std::string_view method) {
  if (method == "HEAD" || status < 200 || status == 204 || status == 304) {
    return BodyTracker::none();
  }
  const auto coding = fields.values.find("transfer-encoding");
  if (coding != fields.values.end()) {
    if (fields.lengths > 0) {
      return wrong("Transfer-Encoding and Content-Length contradict each other");
    }
    const std::string value = to_lower(coding->second);
    if (value == "chunked") return BodyTracker::chunked();
    return wrong(fmt::format("Transfer-Encoding '{}'; only chunked is known",
                             escape_terminal(shorten(value, 60))));
  }
  if (fields.lengths == 0) return BodyTracker::until_close();
  const std::string& digits = fields.values.at("content-length");
  if (fields.lengths > 1 || !all_digits(digits) || digits.size() > 18) {
    return wrong(fmt::format("Content-Length '{}' is not one whole number",
                             escape_terminal(shorten(digits, 60))));
  }
  return BodyTracker::of_length(std::stoull(digits));
}

}  // namespace

Result<ReplyHead> parse_reply_head(std::string_view text, std::string_view method) {
  const auto end = text.find("\r\n");
  const std::string_view line = text.substr(0, end);
  const bool http = line.starts_with("HTTP/1.") && line.size() >= 12 && line[8] == ' ' &&
                    (line[7] == '0' || line[7] == '1') && (line.size() == 12 || line[12] == ' ');
  if (!http || !all_digits(line.substr(9, 3)) || line[9] == '0') {
    return wrong(
        fmt::format("'{}' is no status line of HTTP/1.1", escape_terminal(shorten(line, 60))));
  }
  ReplyHead head;
  head.status = std::stoi(std::string(line.substr(9, 3)));
  auto fields = parse_fields(text.substr(end + 2));
  if (!fields) return tl::unexpected(fields.error());
  auto body = find_body(*fields, head.status, method);
  if (!body) return tl::unexpected(body.error());
  head.body = std::move(*body);
  const std::string connection =
      fields->values.contains("connection") ? fields->values.at("connection") : "";
  head.keep_alive =
      line[7] == '0' ? net::lists(connection, "keep-alive") : !net::lists(connection, "close");
  if (head.body.ends_with_connection()) head.keep_alive = false;
  return head;
}

}  // namespace onceproof::proxy
