// The provider's own truth: one row an effect, in SQLite or in this process (":memory:"). Its
// transaction *is* the effect.
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
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/sqlite.h"

namespace onceproof::fakes {

struct Effect {
  std::string id;            // "pay_000001": the external id, its kind's first three letters first
  std::string service;       // "payments"
  std::string kind;          // "payment", "refund", "cancel", "email", "application"
  std::string business_ref;  // what it is about: the order id. Effects are counted by this.
  std::string key;           // the operation key as it travelled; empty: none
  std::string reference;     // the client's reference field; empty: none
  std::string parent;  // id of the effect that this one changes (a refund's payment), or empty
  Json params;         // the request's body, as received
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

enum class FindBy { id, key, reference, parent, business_ref };

struct Query {
  std::string kind;  // empty: any
  FindBy by = FindBy::id;
  std::string value;  // empty: finds nothing
};

class LedgerRows;

class Ledger {
 public:
  ~Ledger();

  // What is committed so far, for who decides inside a transaction what to commit.
  class View {
   public:
    // Oldest first.
    Result<std::vector<Effect>> find(const Query& query) { return ledger_.select(query); }

   private:
    friend class Ledger;
    explicit View(Ledger& ledger) : ledger_(ledger) {}
    Ledger& ledger_;
  };

  // `path` may be ":memory:". Errors: those of Database::open.
  static Result<std::unique_ptr<Ledger>> open(const std::filesystem::path& path,
                                              Durability durability, Clock& clock);

  // One transaction. `plan`: Result<std::vector<Effect>>(View&), what is to be committed in view of
  // what is; it may be nothing. `make_answer`: std::optional<StoredKey>(const
  // std::vector<Effect>&), the answer to keep for the request's key, from the effects as they are
  // committed (ids and times filled). Returns those effects.
  template <typename Plan, typename MakeAnswer>
  Result<std::vector<Effect>> commit(Plan&& plan, MakeAnswer&& make_answer) {
    const std::scoped_lock lock(mutex_);
    auto changes = begin();
    if (!changes) return tl::unexpected(changes.error());
    View view(*this);
    Result<std::vector<Effect>> effects = plan(view);
    if (!effects) return effects;
    for (auto& effect : *effects) {
      if (auto done = insert(effect); !done) return tl::unexpected(done.error());
    }
    const std::optional<StoredKey> stored = make_answer(std::as_const(*effects));
    if (stored) {
      if (auto done = put_key(*stored); !done) return tl::unexpected(done.error());
    }
    if (auto done = changes->commit(); !done) return tl::unexpected(done.error());
    return effects;
  }

  // Oldest first.
  Result<std::vector<Effect>> effects();
  Result<std::uint64_t> count();
  Result<std::vector<Effect>> find(const Query& query);

  Result<std::optional<StoredKey>> find_key(std::string_view key);
  Result<void> store_key(const StoredKey& stored);
  Result<void> forget_key(std::string_view key);
  Result<void> clear();

 private:
  // Open until commit(); left without it, nothing of it is kept.
  class Changes {
   public:
    explicit Changes(LedgerRows& rows) : rows_(&rows) {}
    Changes(Changes&& other) noexcept : rows_(std::exchange(other.rows_, nullptr)) {}
    Changes& operator=(Changes&&) = delete;
    ~Changes();
    Result<void> commit();

   private:
    LedgerRows* rows_;
  };

  Ledger(std::unique_ptr<LedgerRows> rows, Clock& clock);
  Result<Changes> begin();
  Result<void> insert(Effect& effect);
  Result<void> put_key(const StoredKey& stored);
  Result<std::vector<Effect>> select(const Query& query);

  std::mutex mutex_;
  const std::unique_ptr<LedgerRows> rows_;
  Clock& clock_;
  const std::chrono::nanoseconds civil_offset_;  // of civil time to monotonic, at the start
};

}  // namespace onceproof::fakes
