// The gateway's listener: HTTP/1.1, on loopback unless told otherwise. Every byte of a header, of
// the target and of the body reaches the gateway as it was sent, or the request is refused
// (net/request_head.h). Invariant: it ends with its object; requests that are being answered are
// finished first. Limits: net/limits.h. No TLS: put it beside the client, or behind what has it.
// Not httplib's server: that decodes %xx in headers, so that two keys become one and one request
// two.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "reference/gateway.h"

namespace onceproof {

struct GatewayServerOptions {
  std::string bind = "127.0.0.1";  // an address in digits, or "localhost"
  int port = 0;                    // 0: any free one
};

class GatewayServer {
 public:
  // `gateway` and `clock` must outlive it. Errors: port_busy, invalid_argument (no such address).
  static Result<std::unique_ptr<GatewayServer>> start(const GatewayServerOptions& options,
                                                      Gateway& gateway, Clock& clock);
  ~GatewayServer();
  int port() const;
  std::string url() const;  // "http://127.0.0.1:4711"

 private:
  struct State;
  explicit GatewayServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace onceproof
