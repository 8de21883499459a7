// What the requests of one fake share.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>

#include "base/guarded.h"
#include "fakes/key_gate.h"
#include "fakes/service.h"
#include "fakes/wire_log.h"
#include "faults/engine.h"

namespace onceproof::fakes {

// All of it outlives the requests.
struct FakeParts {
  const Service& service;
  const Profile& profile;
  Ledger& ledger;
  WireLog& wire_log;
  faults::Engine& faults;
  Clock& clock;
  std::function<void(const std::string& worker)> kill_worker;  // may be empty
  // SIGSTOP, and SIGCONT after the time; returns once the worker stands still. May be empty.
  std::function<void(const std::string& worker, Milliseconds)> pause_worker = {};
  KeyGate gate = {};
  // What a key or reference was about: for the log of lookups.
  Guarded<std::map<std::string, std::string>> known_refs = {};
  std::atomic<std::int64_t> longest_service_ms{0};
};

}  // namespace onceproof::fakes
