#include "fakes/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "fakes/ledger_rows.h"

namespace onceproof::fakes {

std::string effect_id(std::string_view kind, std::int64_t number) {
  return fmt::format("{}_{:06}", kind.substr(0, 3), number);
}

std::int64_t number_in(std::string_view id) {
  const auto digits = id.substr(std::min(id.find('_'), id.size() - 1) + 1);
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? number : -1;
}

Ledger::Changes::~Changes() {
  if (rows_ != nullptr) rows_->roll_back();
}

Result<void> Ledger::Changes::commit() {
  auto done = rows_->commit();
  if (done) rows_ = nullptr;
  return done;
}

Result<std::unique_ptr<Ledger>> Ledger::open(const std::filesystem::path& path,
                                             Durability durability, Clock& clock) {
  if (path == ":memory:") {
    return std::unique_ptr<Ledger>(new Ledger(make_memory_rows(), clock));
  }
  auto rows = open_file_rows(path, durability, clock);
  if (!rows) return tl::unexpected(rows.error());
  return std::unique_ptr<Ledger>(new Ledger(std::move(*rows), clock));
}

Ledger::Ledger(std::unique_ptr<LedgerRows> rows, Clock& clock)
    : rows_(std::move(rows)),
      clock_(clock),
      civil_offset_(clock.civil().time_since_epoch() - clock.monotonic().time_since_epoch()) {}

Ledger::~Ledger() = default;

Result<Ledger::Changes> Ledger::begin() {
  if (auto begun = rows_->begin(); !begun) return tl::unexpected(begun.error());
  return Changes(*rows_);
}

Result<void> Ledger::insert(Effect& effect) {
  effect.committed_at = clock_.monotonic();
  effect.committed_at_civil = CivilTime{std::chrono::duration_cast<Milliseconds>(
      effect.committed_at.time_since_epoch() + civil_offset_)};
  return rows_->insert(effect);
}

Result<void> Ledger::put_key(const StoredKey& stored) {
  return rows_->put_key(stored);
}

Result<std::vector<Effect>> Ledger::select(const Query& query) {
  return rows_->select(query);
}

Result<std::vector<Effect>> Ledger::find(const Query& query) {
  const std::scoped_lock lock(mutex_);
  return rows_->select(query);
}

Result<std::vector<Effect>> Ledger::effects() {
  const std::scoped_lock lock(mutex_);
  return rows_->all();
}

Result<std::uint64_t> Ledger::count() {
  const std::scoped_lock lock(mutex_);
  return rows_->count();
}

Result<std::optional<StoredKey>> Ledger::find_key(std::string_view key) {
  const std::scoped_lock lock(mutex_);
  return rows_->find_key(key);
}

Result<void> Ledger::store_key(const StoredKey& stored) {
  const std::scoped_lock lock(mutex_);
  auto changes = begin();
  if (!changes) return tl::unexpected(changes.error());
  if (auto done = rows_->put_key(stored); !done) return done;
  return changes->commit();
}

Result<void> Ledger::forget_key(std::string_view key) {
  const std::scoped_lock lock(mutex_);
  return rows_->forget_key(key);
}

Result<void> Ledger::clear() {
  const std::scoped_lock lock(mutex_);
  return rows_->clear();
}

}  // namespace onceproof::fakes
