// The fault proxy: a port in front of any real HTTP/1.1 upstream, with the faults and the wire log
// of the fakes. docs/proxy.md is its manual.
// Invariant: nothing is rewritten but what a fault says (and the Host header if asked): heads,
// bodies and chunk framing pass byte for byte, and a request is sent once. From start() to the
// destructor the port answers; afterwards no thread, connection or descriptor of it is left.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "fakes/wire_log.h"
#include "faults/engine.h"
#include "net/listener.h"
#include "proxy/parts.h"
#include "proxy/rule.h"
#include "proxy/upstream.h"

namespace onceproof::proxy {

struct ProxyOptions {
  std::string upstream;           // a URL; parse_upstream_url
  std::filesystem::path ca_file;  // https: authorities to trust instead of the system's
  std::string bind = "127.0.0.1";
  int port = 0;  // 0: any free one
  bool upstream_host = false;
  std::string key_header = "Idempotency-Key";
  std::vector<Route> routes;
  std::vector<faults::Fault> faults;  // armed before the port is open
  std::vector<Rule> duplicates;
  std::vector<Rule> truncations;
  ProxyLimits limits;
  // A request is over, whatever became of it; may be empty. Called from several threads at once.
  std::function<void(const fakes::WireEntry&)> on_end;
};

class Proxy {
 public:
  // Errors: as Upstream::make, arm and net::Listener::start; invalid_argument (a header's name).
  static Result<std::unique_ptr<Proxy>> start(ProxyOptions options, Clock& clock);

  // Arms a fault. Errors: as faults::Engine::arm; invalid_argument (check_for_proxy).
  Result<std::string> arm(faults::Fault fault);

  std::string url() const { return listener_->url(); }
  int port() const { return listener_->port(); }
  const UpstreamUrl& upstream() const { return upstream_->url(); }
  std::size_t connections() { return listener_->connections(); }
  faults::Engine& faults() { return faults_; }
  const fakes::WireLog& wire_log() const { return wire_log_; }

 private:
  Proxy(ProxyOptions options, std::unique_ptr<Upstream> upstream, Clock& clock);
  void serve(net::Connection& connection, const std::stop_token& stop);

  const ProxyOptions options_;
  const std::unique_ptr<Upstream> upstream_;
  Clock& clock_;
  faults::Engine faults_;
  fakes::WireLog wire_log_;
  RuleCounter duplicates_;
  RuleCounter truncations_;
  std::unique_ptr<ProxyParts> parts_;
  std::unique_ptr<net::Listener> listener_;  // last: its threads use the rest
};

}  // namespace onceproof::proxy
