// The keys of a provider with key dedup: who may go on with a key, and what the others are told.
// Invariant: of equal requests that run at once, one holds the key. Thread-safe.
#pragma once

#include <map>
#include <string>
#include <variant>

#include "base/guarded.h"
#include "fakes/ledger.h"

namespace onceproof::fakes {

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
  // Nothing is in flight any more.
  void clear() { in_flight_.lock()->clear(); }

 private:
  Guarded<std::map<std::string, std::string>> in_flight_;  // key -> fingerprint
};

}  // namespace onceproof::fakes
