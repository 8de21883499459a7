// One HTTP/1.1 request, one answer, one total deadline. cpp-httplib reads and writes the protocol;
// the socket is ours, so that the deadline covers connect, send and every byte of the answer: one
// that drips a byte at a time does not outlive it. Invariant: a request is written at most once. No
// retry, no redirect, no authentication round, no decompression. (httplib::Client::send repeats a
// request by itself when a TLS peer closes: hence process_request only, and no https.) Does not
// know what an answer means; reference/outcome.h does. Source: RFC 9112.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "reference/outcome.h"

namespace onceproof {

struct HttpRequest {
  std::string method;  // "POST", "GET", ...
  std::string target;  // below the URL's path, with its query: "/payments?reference=op_1"
  HeaderLines headers;
  std::string body;  // application/json, if no header says otherwise
  // For what cannot be sent again: a server may close a kept connection at the very moment at which
  // we write to it, and then nobody knows.
  bool new_connection = false;
};

// The values of this header, in any case of its name, a line each.
std::vector<std::string> header_lines(const HeaderLines& headers, std::string_view name);

class HttpClient {
 public:
  // "http://host[:port][/path]". The host's addresses are looked up here, once: the resolver knows
  // no deadline. Connections are kept alive and reused while the server has not closed them, at
  // most for a few idle seconds. `clock` must run with the machine's time: the kernel waits by
  // that. Errors: invalid_argument, unsupported (https), connection_failed (no such host).
  static Result<std::unique_ptr<HttpClient>> make(std::string_view url, Clock& clock,
                                                  std::size_t max_answer_bytes = 1 << 20);
  ~HttpClient();

  // Blocks for at most `timeout`. Thread-safe.
  Exchange exchange(const HttpRequest& request, Milliseconds timeout);

 private:
  struct State;
  explicit HttpClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace onceproof
