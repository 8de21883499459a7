// The provider's own truth: one row an effect, in SQLite. Its transaction *is* the effect.
// Invariant: a row that was returned by commit() is durable and never changes.
// Knows nothing of HTTP, keys' meaning or faults.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/sqlite.h"

namespace onceproof::fakes {

struct Effect {
  std::string id;            // "pay_000001": the external id
  std::string service;       // "payments"
  std::string business_ref;  // what it is about: the order id. Effects are counted by this, never by key alone.
  std::string key;           // the operation key as it travelled; empty: none
  std::string reference;     // the client's reference field; empty: none
  Json params;               // the request's body, as received
  std::uint64_t request = 0; // number of the request in the wire log
  MonotonicTime committed_at;
  CivilTime committed_at_civil;
};

// What the provider remembers of a key (profiles with key dedup).
struct StoredKey {
  std::string key;
  std::string fingerprint;  // SHA-256 of the body, computed here, not by the executor's rules
  bool in_flight = true;
  int status = 0;
  std::string body;
  MonotonicTime first_seen_at;
};

class Ledger {
 public:
  // `path` may be ":memory:". Errors: those of Database::open.
  static Result<Ledger> open(const std::filesystem::path& path, Durability durability);

  // One transaction: the effect's row and, if given, the stored answer for its key. Fills id and committed times.
  Result<Effect> commit(Effect effect, const std::optional<StoredKey>& stored, Clock& clock);

  // Effects, oldest first; with a business_ref, reference or key: only those.
  Result<std::vector<Effect>> effects() const;
  Result<std::optional<Effect>> find_by_id(std::string_view id) const;
  Result<std::vector<Effect>> find_by_reference(std::string_view reference) const;
  Result<std::vector<Effect>> find_by_key(std::string_view key) const;

  Result<std::optional<StoredKey>> find_key(std::string_view key) const;
  Result<void> store_key(const StoredKey& stored);
  Result<void> forget_key(std::string_view key);
  Result<void> clear();

 private:
  explicit Ledger(Database database) : database_(std::move(database)) {}
  mutable Database database_;
};

}  // namespace onceproof::fakes
