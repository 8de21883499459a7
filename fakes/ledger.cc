#include "fakes/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace onceproof::fakes {
namespace {

constexpr Milliseconds kBusy{2'000};

constexpr const char* kSchema = R"(
  CREATE TABLE IF NOT EXISTS effects(
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    service TEXT NOT NULL,
    kind TEXT NOT NULL,
    business_ref TEXT NOT NULL,
    key TEXT NOT NULL,
    reference TEXT NOT NULL,
    parent TEXT NOT NULL,
    params TEXT NOT NULL,
    request INTEGER NOT NULL,
    committed_ns INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS effects_by_reference ON effects(reference);
  CREATE INDEX IF NOT EXISTS effects_by_key ON effects(key);
  CREATE INDEX IF NOT EXISTS effects_by_parent ON effects(parent);
  CREATE INDEX IF NOT EXISTS effects_by_business_ref ON effects(business_ref);
  CREATE TABLE IF NOT EXISTS keys(
    key TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    status INTEGER NOT NULL,
    body TEXT NOT NULL,
    first_seen_ns INTEGER NOT NULL
  ) STRICT;
)";

constexpr std::string_view kColumns =
    "number, service, kind, business_ref, key, reference, parent, params, request, committed_ns";

std::string make_id(std::string_view kind, std::int64_t number) {
  return fmt::format("{}_{:06}", kind.substr(0, 3), number);
}

// The row's number in an id as make_id writes it; -1, which no row has, for any other text.
std::int64_t number_in(std::string_view id) {
  const auto digits = id.substr(std::min(id.find('_'), id.size() - 1) + 1);
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? number : -1;
}

constexpr std::string_view column_of(FindBy by) {
  switch (by) {
    case FindBy::id:
      return "number";
    case FindBy::key:
      return "key";
    case FindBy::reference:
      return "reference";
    case FindBy::parent:
      return "parent";
    case FindBy::business_ref:
      return "business_ref";
  }
  return "number";
}

Result<void> run(Statement& statement) {
  const auto done = statement.step();
  if (!done) return tl::unexpected(done.error());
  return {};
}

}  // namespace

Result<std::unique_ptr<Ledger>> Ledger::open(const std::filesystem::path& path,
                                             Durability durability, Clock& clock) {
  auto database = Database::open(path, durability, kBusy);
  if (!database) return tl::unexpected(database.error());
  if (auto made = database->execute(kSchema); !made) return tl::unexpected(made.error());
  return std::unique_ptr<Ledger>(new Ledger(std::move(*database), clock));
}

Ledger::Ledger(Database database, Clock& clock)
    : database_(std::move(database)),
      clock_(clock),
      civil_offset_(clock.civil().time_since_epoch() - clock.monotonic().time_since_epoch()) {}

std::int64_t Ledger::to_stored(MonotonicTime time) const {
  return (time.time_since_epoch() + civil_offset_).count();
}

MonotonicTime Ledger::from_stored(std::int64_t nanoseconds) const {
  return MonotonicTime{std::chrono::nanoseconds{nanoseconds} - civil_offset_};
}

Result<void> Ledger::insert(Effect& effect) {
  auto statement = database_.prepare(
      "INSERT INTO effects(service, kind, business_ref, key, reference, parent, params, request, "
      "committed_ns) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number");
  if (!statement) return tl::unexpected(statement.error());
  effect.committed_at = clock_.monotonic();
  const auto stored_time = to_stored(effect.committed_at);
  effect.committed_at_civil =
      CivilTime{std::chrono::duration_cast<Milliseconds>(std::chrono::nanoseconds{stored_time})};
  statement->bind(1, effect.service)
      .bind(2, effect.kind)
      .bind(3, effect.business_ref)
      .bind(4, effect.key)
      .bind(5, effect.reference)
      .bind(6, effect.parent)
      .bind(7, to_line(effect.params))
      .bind(8, static_cast<std::int64_t>(effect.request))
      .bind(9, stored_time);
  const auto row = statement->step();
  if (!row) return tl::unexpected(row.error());
  effect.id = make_id(effect.kind, statement->integer(0));
  // RETURNING has its row before the statement is done.
  return run(*statement);
}

Result<void> Ledger::put_key(const StoredKey& stored) {
  auto statement = database_.prepare(
      "INSERT OR REPLACE INTO keys(key, fingerprint, status, body, first_seen_ns) "
      "VALUES(?, ?, ?, ?, ?)");
  if (!statement) return tl::unexpected(statement.error());
  statement->bind(1, stored.key)
      .bind(2, stored.fingerprint)
      .bind(3, stored.status)
      .bind(4, stored.body)
      .bind(5, to_stored(stored.first_seen_at));
  return run(*statement);
}

Result<std::vector<Effect>> Ledger::read_rows(Statement& statement) {
  std::vector<Effect> effects;
  for (;;) {
    const auto row = statement.step();
    if (!row) return tl::unexpected(row.error());
    if (!*row) return effects;
    Effect effect;
    effect.service = statement.text(1);
    effect.kind = statement.text(2);
    effect.id = make_id(effect.kind, statement.integer(0));
    effect.business_ref = statement.text(3);
    effect.key = statement.text(4);
    effect.reference = statement.text(5);
    effect.parent = statement.text(6);
    effect.params = parse_json(statement.text(7), "ledger").value_or(Json());
    effect.request = static_cast<std::uint64_t>(statement.integer(8));
    effect.committed_at = from_stored(statement.integer(9));
    effect.committed_at_civil = CivilTime{
        std::chrono::duration_cast<Milliseconds>(std::chrono::nanoseconds{statement.integer(9)})};
    effects.push_back(std::move(effect));
  }
}

Result<std::vector<Effect>> Ledger::select(const Query& query) {
  if (query.value.empty()) return std::vector<Effect>{};
  auto statement = database_.prepare(
      fmt::format("SELECT {} FROM effects WHERE {} = ?1 AND (?2 = '' OR kind = ?2) ORDER BY number",
                  kColumns, column_of(query.by)));
  if (!statement) return tl::unexpected(statement.error());
  if (query.by == FindBy::id) {
    statement->bind(1, number_in(query.value));
  } else {
    statement->bind(1, query.value);
  }
  statement->bind(2, query.kind);
  auto found = read_rows(*statement);
  // "ema_000001" and "pay_1" are no ids of payment 1.
  if (found && query.by == FindBy::id) {
    std::erase_if(*found, [&](const Effect& effect) { return effect.id != query.value; });
  }
  return found;
}

Result<std::vector<Effect>> Ledger::find(const Query& query) {
  const std::scoped_lock lock(mutex_);
  return select(query);
}

Result<std::vector<Effect>> Ledger::effects() {
  const std::scoped_lock lock(mutex_);
  auto statement =
      database_.prepare(fmt::format("SELECT {} FROM effects ORDER BY number", kColumns));
  if (!statement) return tl::unexpected(statement.error());
  return read_rows(*statement);
}

Result<std::uint64_t> Ledger::count() {
  const std::scoped_lock lock(mutex_);
  auto statement = database_.prepare("SELECT count(*) FROM effects");
  if (!statement) return tl::unexpected(statement.error());
  const auto row = statement->step();
  if (!row) return tl::unexpected(row.error());
  return static_cast<std::uint64_t>(statement->integer(0));
}

Result<std::optional<StoredKey>> Ledger::find_key(std::string_view key) {
  const std::scoped_lock lock(mutex_);
  auto statement =
      database_.prepare("SELECT fingerprint, status, body, first_seen_ns FROM keys WHERE key = ?");
  if (!statement) return tl::unexpected(statement.error());
  statement->bind(1, key);
  const auto row = statement->step();
  if (!row) return tl::unexpected(row.error());
  if (!*row) return std::optional<StoredKey>();
  StoredKey stored;
  stored.key = key;
  stored.fingerprint = statement->text(0);
  stored.status = static_cast<int>(statement->integer(1));
  stored.body = statement->text(2);
  stored.first_seen_at = from_stored(statement->integer(3));
  return std::optional(std::move(stored));
}

Result<void> Ledger::store_key(const StoredKey& stored) {
  const std::scoped_lock lock(mutex_);
  return put_key(stored);
}

Result<void> Ledger::forget_key(std::string_view key) {
  const std::scoped_lock lock(mutex_);
  auto statement = database_.prepare("DELETE FROM keys WHERE key = ?");
  if (!statement) return tl::unexpected(statement.error());
  statement->bind(1, key);
  return run(*statement);
}

Result<void> Ledger::clear() {
  const std::scoped_lock lock(mutex_);
  return database_.execute(
      "BEGIN IMMEDIATE; DELETE FROM effects; DELETE FROM keys; "
      "DELETE FROM sqlite_sequence WHERE name = 'effects'; COMMIT;");
}

}  // namespace onceproof::fakes
