// The head of an HTTP/1.1 request, parsed strictly: what two parsers could read in two ways is
// refused rather than guessed. Pure; knows no sockets.
// Source: RFC 9112, sections 2-7; RFC 9110, section 5.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "net/limits.h"

namespace onceproof::net {

// A refusal that ends the connection: no request can be found behind it.
struct Refusal {
  int status = 400;
  std::string code;
  std::string message;
};
template <typename T>
using Parsed = tl::expected<T, Refusal>;

struct RequestHead {
  std::string method;
  std::string target;  // "/..."; of the absolute form, what follows the authority
  bool http_1_0 = false;
  std::map<std::string, std::string> headers;  // lower-case names; repeated ones joined by ", "
  std::vector<std::pair<std::string, std::string>> lines;  // each header line as it was written

  bool keep_alive = true;         // the client wants the connection kept
  bool expects_continue = false;  // it waits for "100 Continue" before it sends the body
  bool chunked = false;
  std::uint64_t content_length = 0;  // unless chunked
};

// `text` is all from the request line to the empty line, without the latter; lines end in CRLF.
Parsed<RequestHead> parse_request_head(std::string_view text, const ServerLimits& limits);

// Whether a header's value, a list with commas, has this token (in lower case), in any case.
bool lists(std::string_view value, std::string_view token);

// The size in "1a;extension" (the line before a chunk).
Parsed<std::uint64_t> parse_chunk_size(std::string_view line);

}  // namespace onceproof::net
