#include "faults/server.h"

#include "faults/stream.h"

namespace onceproof::faults {

Result<std::unique_ptr<HttpServer>> HttpServer::start(ServerOptions options, HttpHandlers handlers,
                                                      Clock& clock) {
  std::unique_ptr<HttpServer> server(new HttpServer(options.limits, std::move(handlers)));
  HttpServer* self = server.get();
  auto listener = net::Listener::start(
      {std::move(options.bind), options.port, options.limits.connections},
      [self, &clock](net::Connection& connection, std::stop_token stop) {
        HttpConnection(connection, self->handlers_, self->limits_, clock).run(std::move(stop));
      },
      clock);
  if (!listener) return tl::unexpected(listener.error());
  server->listener_ = std::move(*listener);
  return server;
}

}  // namespace onceproof::faults
