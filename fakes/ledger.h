// The provider's own truth: one row an effect, in SQLite. Its transaction *is* the effect.
// Invariant: what commit() returned is durable and never changes.
// Knows nothing of HTTP, keys' meaning or faults. Thread-safe: one transaction at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/sqlite.h"

namespace onceproof::fakes {

struct Effect {
  std::string id;             // "pay_000001": the external id
  std::string service;        // "payments"
  std::string business_ref;   // what it is about: the order id. Effects are counted by this.
  std::string key;            // the operation key as it travelled; empty: none
  std::string reference;      // the client's reference field; empty: none
  Json params;                // the request's body, as received
  std::uint64_t request = 0;  // number of the request in the wire log
  MonotonicTime committed_at;
  CivilTime committed_at_civil;
};

// What the provider remembers of a key (profiles with key dedup).
struct StoredKey {
  std::string key;
  std::string fingerprint;  // SHA-256 of the body, computed here, not by the executor's rules
  int status = 0;
  std::string body;
  MonotonicTime first_seen_at;
};

class Ledger {
 public:
  // `path` may be ":memory:". Errors: those of Database::open.
  static Result<std::unique_ptr<Ledger>> open(const std::filesystem::path& path,
                                              Durability durability, Clock& clock);

  // One transaction: the effect's row and, if given, the answer stored for its key; `make_answer`
  // makes that answer from the effect as it is committed (id and times filled).
  template <typename MakeAnswer>
  Result<Effect> commit(Effect effect, MakeAnswer&& make_answer) {
    const std::scoped_lock lock(mutex_);
    auto transaction = Transaction::begin(database_);
    if (!transaction) return tl::unexpected(transaction.error());
    auto committed = insert(std::move(effect));
    if (!committed) return committed;
    const std::optional<StoredKey> stored = make_answer(*committed);
    if (stored) {
      if (auto done = put_key(*stored); !done) return tl::unexpected(done.error());
    }
    if (auto done = transaction->commit(); !done) return tl::unexpected(done.error());
    return committed;
  }

  // Oldest first.
  Result<std::vector<Effect>> effects();
  Result<std::uint64_t> count();
  Result<std::vector<Effect>> find_by_id(std::string_view id);
  Result<std::vector<Effect>> find_by_reference(std::string_view reference);
  Result<std::vector<Effect>> find_by_key(std::string_view key);

  Result<std::optional<StoredKey>> find_key(std::string_view key);
  Result<void> store_key(const StoredKey& stored);
  Result<void> forget_key(std::string_view key);
  Result<void> clear();

 private:
  Ledger(Database database, Clock& clock);
  Result<Effect> insert(Effect effect);
  Result<void> put_key(const StoredKey& stored);
  Result<std::vector<Effect>> select(std::string_view where, std::string_view value);
  std::int64_t to_stored(MonotonicTime time) const;
  MonotonicTime from_stored(std::int64_t nanoseconds) const;

  std::mutex mutex_;
  Database database_;
  Clock& clock_;
  // Rows outlive a process, monotonic time does not: rows hold civil time, which is the monotonic
  // time moved by this. So a clock that is set while we run moves nothing.
  std::chrono::nanoseconds civil_offset_;
};

}  // namespace onceproof::fakes
