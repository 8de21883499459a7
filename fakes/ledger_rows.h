// Where a ledger keeps its rows: in a file, or in this process.
// Invariant: what was put since begin() is there whole after commit(), and not at all after
// roll_back(). Not thread-safe: the ledger has the lock.
#pragma once

#include "fakes/ledger.h"

namespace onceproof::fakes {

class LedgerRows {
 public:
  virtual ~LedgerRows() = default;
  virtual Result<void> begin() = 0;
  virtual Result<void> commit() = 0;
  virtual void roll_back() = 0;

  // Numbers it, which makes its id.
  virtual Result<void> insert(Effect& effect) = 0;
  // Oldest first.
  virtual Result<std::vector<Effect>> select(const Query& query) = 0;
  virtual Result<std::vector<Effect>> all() = 0;
  virtual Result<std::uint64_t> count() = 0;

  virtual Result<void> put_key(const StoredKey& stored) = 0;
  virtual Result<std::optional<StoredKey>> find_key(std::string_view key) = 0;
  virtual Result<void> forget_key(std::string_view key) = 0;
  // Effects, keys and numbers begin anew.
  virtual Result<void> clear() = 0;
};

// Errors: those of Database::open.
Result<std::unique_ptr<LedgerRows>> open_file_rows(const std::filesystem::path& path,
                                                   Durability durability, Clock& clock);
std::unique_ptr<LedgerRows> make_memory_rows();

// "pay_000001".
std::string effect_id(std::string_view kind, std::int64_t number);
// The number in an id as effect_id writes it; -1, which no row has, for any other text.
// "ema_000001" and "pay_1" have one and are no ids of payment 1: compare the id too.
std::int64_t number_in(std::string_view id);

}  // namespace onceproof::fakes
