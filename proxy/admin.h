// The admin API of a running proxy: its wire log and its faults, over HTTP and JSON, in the forms
// of the fakes' (docs/admin-api.md). On a port of its own. A request that a web page could have
// made (it has an Origin) is refused; beyond loopback every request needs the token.
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "faults/server.h"
#include "proxy/proxy.h"

namespace onceproof::proxy {

struct ProxyAdminOptions {
  std::string bind = "127.0.0.1";
  int port = 0;       // 0: any free one
  std::string token;  // "Authorization: Bearer <token>"; required unless bind is loopback
};

// An entry as the fakes' API gives it, with `upstream_status` and `note`; the disposition says
// "answered" where only the upstream knows what it did.
Json entry_json(const fakes::WireEntry& entry, MonotonicTime start);

class ProxyAdmin {
 public:
  // `proxy` outlives it. Errors: port_busy, invalid_argument (no such address; no token beyond
  // loopback).
  static Result<std::unique_ptr<ProxyAdmin>> start(ProxyAdminOptions options, Proxy& proxy,
                                                   Clock& clock);
  std::string url() const { return server_->url(); }
  int port() const { return server_->port(); }

 private:
  ProxyAdmin(ProxyAdminOptions options, Proxy& proxy, Clock& clock)
      : options_(std::move(options)), proxy_(proxy), start_(clock.monotonic()) {}
  faults::HttpReply serve(const faults::HttpRequest& request);
  faults::HttpReply arm_fault(const faults::HttpRequest& request);
  faults::HttpReply list_faults();
  faults::HttpReply list_wire(const faults::HttpRequest& request);

  const ProxyAdminOptions options_;
  Proxy& proxy_;
  const MonotonicTime start_;
  std::unique_ptr<faults::HttpServer> server_;  // last: its threads use the rest
};

}  // namespace onceproof::proxy
