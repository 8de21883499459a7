// The gateway's listener: HTTP/1.1 by cpp-httplib, on loopback unless told otherwise. Invariant: it
// ends with its object; requests that are being answered are finished first. Limits: 1 MiB a body,
// 8 KiB a header line (httplib's), a time limit for each read and write, so many requests at one
// time as there are threads. No TLS: put it beside the client, or behind what has it.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "reference/gateway.h"

namespace onceproof {

struct GatewayServerOptions {
  std::string bind = "127.0.0.1";
  int port = 0;  // 0: any free one
  std::size_t threads = 32;
};

class GatewayServer {
 public:
  // `gateway` must outlive it. Errors: port_busy.
  static Result<std::unique_ptr<GatewayServer>> start(const GatewayServerOptions& options,
                                                      Gateway& gateway);
  ~GatewayServer();
  std::string url() const;  // "http://127.0.0.1:4711"

 private:
  struct State;
  explicit GatewayServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace onceproof
