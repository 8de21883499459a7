// The admin API of a running fake: what the provider knows, and its faults, over HTTP and JSON.
// docs/admin-api.md has the routes. On a port of its own, so that no SUT can reach it by mistake.
// A request that a web page could have made (it has an Origin) is refused; beyond loopback every
// request needs the token.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fakes/host.h"
#include "faults/server.h"

namespace onceproof::fakes {

struct AdminOptions {
  std::string bind = "127.0.0.1";
  int port = 0;       // 0: any free one
  std::string token;  // "Authorization: Bearer <token>"; required unless bind is loopback
};

class AdminApi {
 public:
  // `host` outlives it. Errors: port_busy, invalid_argument (no such address; no token beyond
  // loopback).
  static Result<std::unique_ptr<AdminApi>> start(AdminOptions options, Host& host, Clock& clock);

  std::string url() const { return server_->url(); }
  int port() const { return server_->port(); }

  // All there is, as the OpenAPI file writes it: "GET /faults/{name}".
  static std::vector<std::string> routes();

 private:
  struct Route;
  static const std::vector<Route>& table();
  AdminApi(AdminOptions options, Host& host, Clock& clock)
      : options_(std::move(options)), host_(host), clock_(clock), start_(clock.monotonic()) {}
  faults::HttpReply serve(const faults::HttpRequest& request);
  faults::HttpReply dispatch(const faults::HttpRequest& request);
  faults::HttpReply show_health(const faults::HttpRequest& request);
  faults::HttpReply show_metrics(const faults::HttpRequest& request);
  faults::HttpReply show_clock(const faults::HttpRequest& request);
  faults::HttpReply list_profiles(const faults::HttpRequest& request);
  faults::HttpReply show_profile(const faults::HttpRequest& request);
  faults::HttpReply heal_faults(const faults::HttpRequest& request);
  faults::HttpReply remove_fault(const faults::HttpRequest& request);
  faults::HttpReply reset(const faults::HttpRequest& request);
  faults::HttpReply arm_faults(const faults::HttpRequest& request);
  faults::HttpReply list_faults(const faults::HttpRequest& request);
  faults::HttpReply list_effects(const faults::HttpRequest& request);
  faults::HttpReply list_wire(const faults::HttpRequest& request);

  const AdminOptions options_;
  Host& host_;
  Clock& clock_;
  const MonotonicTime start_;
  std::unique_ptr<faults::HttpServer> server_;  // last: its threads use the rest
};

}  // namespace onceproof::fakes
