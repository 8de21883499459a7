// Reads whole requests from one connection, one after the other, within ServerLimits.
// Invariant: a request is handed on only when its last byte is here, and never a byte of the next
// one with it; a client that is slow, endless or wrong is refused within bounded time and memory.
#pragma once

#include <string>
#include <variant>

#include "net/limits.h"
#include "net/listener.h"
#include "net/request_head.h"

namespace onceproof::net {

struct WholeRequest {
  RequestHead head;
  std::string body;
};
struct HeadOnly {
  RequestHead head;
  std::string text;  // as it arrived, from the request line to the empty line
};
struct RefusedRequest {
  RequestHead head;  // as much as was understood; may be empty
  Refusal refusal;
};
struct NoRequest {};  // the client is gone, or was idle too long: nothing is to be written

class RequestReader {
 public:
  RequestReader(Connection& connection, const ServerLimits& limits, Clock& clock)
      : connection_(connection), limits_(limits), clock_(clock) {}

  // Blocks until a request is whole; bounded by limits.idle and limits.request. The connection is
  // idle until the request's first byte is here.
  std::variant<WholeRequest, RefusedRequest, NoRequest> next();
  // The same for a head alone. Its body is the caller's: it begins in ahead(), goes on in the
  // connection's socket, and must be read to its end before the next call.
  std::variant<HeadOnly, RefusedRequest, NoRequest> next_head();
  // What has arrived and was not used yet. The caller takes from its front what is its own.
  std::string& ahead() { return buffer_; }

 private:
  // Why reading cannot go on; a Refusal without a status: silently.
  Parsed<void> fill();
  Parsed<std::string> read_line(std::size_t limit, int status, std::string_view code);
  Parsed<std::string> read_head();
  Parsed<std::string> read_body(const RequestHead& head);
  Parsed<std::string> read_chunks();
  Parsed<std::string> take(std::size_t bytes);
  bool await_first_byte();

  Connection& connection_;
  const ServerLimits& limits_;
  Clock& clock_;
  MonotonicTime deadline_{};
  std::string buffer_;  // arrived and not yet used; begins a request's head or goes on in its body
};

}  // namespace onceproof::net
