// One request's way through a fake, for every service: keys and mismatches, the fault points, the
// ledger's commit, the reply, and its entry in the wire log.
// Order: read -> admit -> [request_received] -> commit, look up, replay or refuse -> [after_commit]
// -> the reply's last byte -> [response_sent]. A key is in flight from its admission until its
// answer is stored, or until the request was struck down before the commit.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <variant>

#include "base/guarded.h"
#include "fakes/service.h"
#include "fakes/wire_log.h"
#include "faults/engine.h"

namespace onceproof::fakes {

// The keys of a provider with key dedup. Thread-safe.
class KeyGate {
 public:
  struct Fresh {};     // the caller holds the key now, and must leave()
  struct InFlight {};  // its first request has not ended
  struct Mismatch {};  // known with another payload; beats in flight, and an answer
  using Entry = std::variant<Fresh, InFlight, Mismatch, StoredKey>;

  // Errors: those of the ledger.
  Result<Entry> enter(const std::string& key, const std::string& fingerprint, Ledger& ledger,
                      Milliseconds window, MonotonicTime now);
  void leave(const std::string& key);

 private:
  Guarded<std::map<std::string, std::string>> in_flight_;  // key -> fingerprint
};

// What the requests of one fake share; all of it outlives them.
struct FakeParts {
  const Service& service;
  const Profile& profile;
  Ledger& ledger;
  WireLog& wire_log;
  faults::Engine& faults;
  Clock& clock;
  std::function<void(const std::string& worker)> kill_worker;  // may be empty
  KeyGate gate = {};
  // What a key or reference was about: for the log of lookups.
  Guarded<std::map<std::string, std::string>> known_refs = {};
  std::atomic<std::int64_t> longest_service_ms{0};
};

// Blocks as long as a `delay` fault says. Any thread.
faults::Decision serve_request(FakeParts& parts, const faults::HttpRequest& request,
                               std::stop_token stop);
// A request that never became one (too long, garbage): logged, nothing else.
void log_refused(FakeParts& parts, const faults::HttpRequest& request, int status);

}  // namespace onceproof::fakes
