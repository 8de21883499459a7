// The rows of a ledger in SQLite. The statements of a write and of a key are prepared once: to read
// their text again took more than to carry them out.
#include <fmt/format.h>

#include "fakes/ledger_rows.h"

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
  statement.reset();
  if (!done) return tl::unexpected(done.error());
  return {};
}

class FileRows final : public LedgerRows {
 public:
  FileRows(Database database, Clock& clock)
      : database_(std::move(database)),
        civil_offset_(clock.civil().time_since_epoch() - clock.monotonic().time_since_epoch()) {}
  // Errors: those of Database::prepare.
  Result<void> prepare();

  Result<void> begin() override { return run(*begin_); }
  Result<void> commit() override { return run(*commit_); }
  void roll_back() override { static_cast<void>(database_.execute("ROLLBACK")); }

  Result<void> insert(Effect& effect) override;
  Result<std::vector<Effect>> select(const Query& query) override;
  Result<std::vector<Effect>> all() override;
  Result<std::uint64_t> count() override;

  Result<void> put_key(const StoredKey& stored) override;
  Result<std::optional<StoredKey>> find_key(std::string_view key) override;
  Result<void> forget_key(std::string_view key) override;
  Result<void> clear() override;

 private:
  Result<std::vector<Effect>> read_rows(Statement& statement);
  std::int64_t to_stored(MonotonicTime time) const;
  MonotonicTime from_stored(std::int64_t nanoseconds) const;

  Database database_;
  // Rows outlive a process, monotonic time does not: rows hold civil time, which is the monotonic
  // time moved by this. So a clock that is set while we run moves nothing.
  const std::chrono::nanoseconds civil_offset_;
  // Prepared by prepare(); each is reset after its use, for one that is not holds a transaction.
  std::optional<Statement> begin_, commit_, insert_, put_key_, find_key_, forget_key_;
};

Result<void> FileRows::prepare() {
  const auto keep = [this](std::optional<Statement>& place, const char* sql) -> Result<void> {
    auto statement = database_.prepare(sql);
    if (!statement) return tl::unexpected(statement.error());
    place = std::move(*statement);
    return {};
  };
  Result<void> done = keep(begin_, "BEGIN IMMEDIATE");
  if (done) done = keep(commit_, "COMMIT");
  if (done) {
    done = keep(insert_,
                "INSERT INTO effects(service, kind, business_ref, key, reference, parent, params, "
                "request, committed_ns) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number");
  }
  if (done) {
    done = keep(put_key_,
                "INSERT OR REPLACE INTO keys(key, fingerprint, status, body, first_seen_ns) "
                "VALUES(?, ?, ?, ?, ?)");
  }
  if (done) {
    done =
        keep(find_key_, "SELECT fingerprint, status, body, first_seen_ns FROM keys WHERE key = ?");
  }
  if (done) done = keep(forget_key_, "DELETE FROM keys WHERE key = ?");
  return done;
}

std::int64_t FileRows::to_stored(MonotonicTime time) const {
  return (time.time_since_epoch() + civil_offset_).count();
}

MonotonicTime FileRows::from_stored(std::int64_t nanoseconds) const {
  return MonotonicTime{std::chrono::nanoseconds{nanoseconds} - civil_offset_};
}

Result<void> FileRows::insert(Effect& effect) {
  insert_->bind(1, effect.service)
      .bind(2, effect.kind)
      .bind(3, effect.business_ref)
      .bind(4, effect.key)
      .bind(5, effect.reference)
      .bind(6, effect.parent)
      .bind(7, to_line(effect.params))
      .bind(8, static_cast<std::int64_t>(effect.request))
      .bind(9, to_stored(effect.committed_at));
  const auto row = insert_->step();
  if (!row) return tl::unexpected(row.error());
  effect.id = effect_id(effect.kind, insert_->integer(0));
  // RETURNING has its row before the statement is done.
  return run(*insert_);
}

Result<void> FileRows::put_key(const StoredKey& stored) {
  put_key_->bind(1, stored.key)
      .bind(2, stored.fingerprint)
      .bind(3, stored.status)
      .bind(4, stored.body)
      .bind(5, to_stored(stored.first_seen_at));
  return run(*put_key_);
}

Result<std::vector<Effect>> FileRows::read_rows(Statement& statement) {
  std::vector<Effect> effects;
  for (;;) {
    const auto row = statement.step();
    if (!row) return tl::unexpected(row.error());
    if (!*row) return effects;
    Effect effect;
    effect.service = statement.text(1);
    effect.kind = statement.text(2);
    effect.id = effect_id(effect.kind, statement.integer(0));
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

Result<std::vector<Effect>> FileRows::select(const Query& query) {
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

Result<std::vector<Effect>> FileRows::all() {
  auto statement =
      database_.prepare(fmt::format("SELECT {} FROM effects ORDER BY number", kColumns));
  if (!statement) return tl::unexpected(statement.error());
  return read_rows(*statement);
}

Result<std::uint64_t> FileRows::count() {
  auto statement = database_.prepare("SELECT count(*) FROM effects");
  if (!statement) return tl::unexpected(statement.error());
  const auto row = statement->step();
  if (!row) return tl::unexpected(row.error());
  return static_cast<std::uint64_t>(statement->integer(0));
}

Result<std::optional<StoredKey>> FileRows::find_key(std::string_view key) {
  find_key_->bind(1, key);
  const auto row = find_key_->step();
  if (!row) return tl::unexpected(row.error());
  std::optional<StoredKey> found;
  if (*row) {
    found = StoredKey{.key = std::string(key),
                      .fingerprint = find_key_->text(0),
                      .status = static_cast<int>(find_key_->integer(1)),
                      .body = find_key_->text(2),
                      .first_seen_at = from_stored(find_key_->integer(3))};
  }
  find_key_->reset();
  return found;
}

Result<void> FileRows::forget_key(std::string_view key) {
  forget_key_->bind(1, key);
  return run(*forget_key_);
}

Result<void> FileRows::clear() {
  return database_.execute(
      "BEGIN IMMEDIATE; DELETE FROM effects; DELETE FROM keys; "
      "DELETE FROM sqlite_sequence WHERE name = 'effects'; COMMIT;");
}

}  // namespace

Result<std::unique_ptr<LedgerRows>> open_file_rows(const std::filesystem::path& path,
                                                   Durability durability, Clock& clock) {
  auto database = Database::open(path, durability, kBusy);
  if (!database) return tl::unexpected(database.error());
  if (auto made = database->execute(kSchema); !made) return tl::unexpected(made.error());
  auto rows = std::make_unique<FileRows>(std::move(*database), clock);
  if (auto prepared = rows->prepare(); !prepared) return tl::unexpected(prepared.error());
  return std::unique_ptr<LedgerRows>(std::move(rows));
}

}  // namespace onceproof::fakes
