// An HTTP server for the fakes: bounded in every respect, and exact about how an exchange ends.
// Invariant: from start() on the port answers; after the destructor no thread, connection or
// descriptor of it is left. A garbage request is answered or dropped, never fatal.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "faults/http.h"
#include "net/listener.h"

namespace onceproof::faults {

struct ServerOptions {
  std::string bind = "127.0.0.1";
  int port = 0;  // 0: any free one
  ServerLimits limits;
};

class HttpServer {
 public:
  // Errors: as net::Listener::start. Waits for a client's bytes end by real time, whatever clock it
  // is.
  static Result<std::unique_ptr<HttpServer>> start(ServerOptions options, HttpHandlers handlers,
                                                   Clock& clock);
  // Requests the handlers' stop tokens, cuts every connection and joins every thread: prompt if
  // the handlers are.
  ~HttpServer() = default;

  int port() const { return listener_->port(); }
  std::string url() const { return listener_->url(); }
  std::size_t connections() { return listener_->connections(); }

 private:
  HttpServer(ServerLimits limits, HttpHandlers handlers)
      : limits_(limits), handlers_(std::move(handlers)) {}

  const ServerLimits limits_;
  const HttpHandlers handlers_;
  std::unique_ptr<net::Listener> listener_;  // last: its threads use the rest
};

}  // namespace onceproof::faults
