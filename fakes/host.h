// A running fake: one service with one profile on one loopback port, its ledger, its wire log and
// its faults. Invariant: from start() to the destructor the port answers; afterwards no thread,
// connection or descriptor of it is left.
// Used by the runner (one Host a cell) and by `onceproof serve`.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "fakes/ledger.h"
#include "fakes/profile.h"
#include "fakes/request_life.h"
#include "fakes/wire_log.h"
#include "faults/engine.h"
#include "faults/server.h"

namespace onceproof::fakes {

struct HostOptions {
  std::string service = "payments";
  Profile profile;
  std::string bind = "127.0.0.1";
  int port = 0;  // 0: any free one
  std::filesystem::path ledger = ":memory:";
  Durability durability = Durability::fast;
  // Called in the request's thread when a `kill` fault strikes, with the worker's name from the
  // URL; returns once the worker is dead. Empty: the fault only closes the connection.
  std::function<void(const std::string& worker)> kill_worker;
  // The same for `pause`: stops the worker, lets it go on after the time, and returns once it
  // stands still. Empty: nothing is paused.
  std::function<void(const std::string& worker, Milliseconds)> pause_worker = {};
};

class Host {
 public:
  // Errors: port_busy, invalid_argument (unknown service, no such address), those of Ledger::open.
  static Result<std::unique_ptr<Host>> start(HostOptions options, Clock& clock);
  // Stops: cuts every connection, joins every thread.
  ~Host() = default;

  // "http://127.0.0.1:4711" or, for one worker, "http://127.0.0.1:4711/w1": the fake strips the
  // prefix and so knows who calls.
  std::string url() const { return server_->url(); }
  std::string url_for(std::string_view worker) const;
  int port() const { return server_->port(); }
  const Profile& profile() const { return profile_; }

  faults::Engine& faults() { return faults_; }
  WireLog& wire_log() { return wire_log_; }
  Result<std::vector<Effect>> effects() { return ledger_->effects(); }
  Result<std::uint64_t> effect_count() { return ledger_->count(); }
  std::size_t connections() { return server_->connections(); }
  // Ledger, keys, wire log and faults emptied. Requests that are under way may still leave a trace.
  Result<void> reset();
  // The longest time from a request's last byte to its reply, of those that no fault struck: how
  // disturbed the machine was.
  Milliseconds longest_service_time() const { return Milliseconds{parts_.longest_service_ms}; }

 private:
  Host(HostOptions options, std::unique_ptr<Service> service, std::unique_ptr<Ledger> ledger,
       Clock& clock);

  const Profile profile_;
  const std::unique_ptr<Service> service_;
  const std::unique_ptr<Ledger> ledger_;
  WireLog wire_log_;
  faults::Engine faults_;
  FakeParts parts_;
  std::unique_ptr<faults::HttpServer> server_;  // last: its threads use the rest
};

}  // namespace onceproof::fakes
