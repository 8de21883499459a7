// A running fake: one service with one profile on one loopback port, its ledger, its wire log and its faults.
// Invariant: from start() to the destructor the port answers; afterwards no thread, connection or descriptor of it is left.
// Used by the runner (one Host a cell) and by `onceproof serve`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "fakes/ledger.h"
#include "fakes/profile.h"
#include "fakes/wire_log.h"
#include "faults/engine.h"

namespace onceproof::fakes {

struct HostOptions {
  std::string service = "payments";
  Profile profile;
  std::string bind = "127.0.0.1";
  int port = 0;                                 // 0: any free one
  std::filesystem::path ledger = ":memory:";
  Durability durability = Durability::fast;
  // Called in the request's thread when a `kill` fault strikes, with the worker's name from the URL; returns once the worker
  // is dead. Empty: the fault only closes the connection.
  std::function<void(const std::string& worker)> kill_worker;
};

class Host {
 public:
  // Errors: port_busy, invalid_argument (unknown service), those of Ledger::open.
  static Result<std::unique_ptr<Host>> start(HostOptions options, Clock& clock);
  virtual ~Host() = default;  // stops: cuts every connection, joins every thread; under 100 ms

  // "http://127.0.0.1:4711" or, for one worker, "http://127.0.0.1:4711/w1": the fake strips the prefix and so knows who calls.
  virtual std::string url() const = 0;
  virtual std::string url_for(std::string_view worker) const = 0;
  virtual int port() const = 0;
  virtual const Profile& profile() const = 0;

  virtual faults::Engine& faults() = 0;
  virtual WireLog& wire_log() = 0;
  virtual Result<std::vector<Effect>> effects() const = 0;
  // Ledger, keys, wire log and faults emptied.
  virtual Result<void> reset() = 0;
  // The longest time that a request without a fault spent inside this fake: how disturbed the machine was.
  virtual Milliseconds longest_service_time() const = 0;
};

}  // namespace onceproof::fakes
