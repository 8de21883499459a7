// What the exchanges of one proxy share, and its bounds. Values and references only.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "fakes/wire_log.h"
#include "faults/engine.h"
#include "net/limits.h"
#include "net/request_reader.h"
#include "proxy/rule.h"
#include "proxy/upstream.h"

namespace onceproof::proxy {

// Bounds of everything that a client or the upstream can make the proxy hold or wait for. The
// size of bodies has no bound of its own: they are never held.
struct ProxyLimits : net::ServerLimits {
  ProxyLimits() {
    body_bytes = std::size_t{1} << 50;
    passes_on = true;
  }
  Milliseconds connect{10'000};             // to the upstream, TLS's handshake included; then 502
  Milliseconds body{30'000};                // for the next piece of a request's body; then 408
  Milliseconds reply{600'000};              // for the next piece of a reply; then 504
  Milliseconds gone{10'000};                // for a reply whose client has ended its side
  Milliseconds drain{10'000};               // for the rest of a reply that nobody will get
  Milliseconds hang{600'000};               // of the fault `hang`
  std::size_t reply_head_bytes = 64 << 10;  // then 502
  int interim_replies = 100;                // to one request; then 502
  std::size_t duplicate_bytes = 1 << 20;    // of a body that is delivered twice
};

struct ProxyParts {
  const Upstream& upstream;
  const ProxyLimits& limits;
  const std::vector<Route>& routes;
  std::string key_header;  // in lower case
  faults::Engine& faults;
  fakes::WireLog& wire_log;
  RuleCounter& duplicates;
  RuleCounter& truncations;
  Clock& clock;
  // What became of a request, when it is over; may be empty. Called from the connections' threads.
  std::function<void(std::uint64_t number)> on_end;
};

// One client connection and the upstream connection that belongs to it.
struct Session {
  net::Connection& client;
  net::RequestReader& reader;
  std::unique_ptr<UpstreamConnection> upstream;  // null: none yet, or it is over
  const ProxyParts& parts;
  const std::stop_token& stop;
};

}  // namespace onceproof::proxy
