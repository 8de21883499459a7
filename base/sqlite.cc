#include "base/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/check.h"

namespace onceproof {
namespace {

ErrorCode code_of(int result) {
  switch (result) {
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_ROWID:
      return ErrorCode::already_exists;
    default:
      break;
  }
  switch (result & 0xff) {
    case SQLITE_CONSTRAINT:  // CHECK, NOT NULL, foreign key, a STRICT table's types
      return ErrorCode::invalid_argument;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::journal_corrupt;
    default:
      return ErrorCode::journal_unavailable;
  }
}

tl::unexpected<Error> failure(sqlite3* database, int result) {
  const char* file = sqlite3_db_filename(database, "main");
  const std::string_view name = file == nullptr || *file == '\0' ? ":memory:" : file;
  return fail(code_of(result),
              fmt::format("SQLite {}: {} (code {})", name, sqlite3_errmsg(database), result));
}

// The switch to WAL needs the file alone, and SQLite does not call the busy handler for it: of
// several processes that open a fresh file at once, all but one would fail.
int switch_to_wal(sqlite3* database, std::chrono::milliseconds busy_timeout) {
  std::chrono::milliseconds waited{0};
  for (;;) {
    const int result = sqlite3_exec(database, "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr);
    if ((result & 0xff) != SQLITE_BUSY || waited >= busy_timeout) return result;
    waited += std::chrono::milliseconds(sqlite3_sleep(2));
  }
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement& Statement::bind(int index, std::int64_t value) {
  CHECK(sqlite3_bind_int64(statement_.get(), index, value) == SQLITE_OK);
  return *this;
}

Statement& Statement::bind(int index, std::string_view text) {
  CHECK(sqlite3_bind_text64(statement_.get(), index, text.data() == nullptr ? "" : text.data(),
                            text.size(), SQLITE_TRANSIENT, SQLITE_UTF8) == SQLITE_OK);
  return *this;
}

Statement& Statement::bind(int index, std::nullopt_t) {
  CHECK(sqlite3_bind_null(statement_.get(), index) == SQLITE_OK);
  return *this;
}

Result<bool> Statement::step() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  auto error = failure(sqlite3_db_handle(statement_.get()), result);
  sqlite3_reset(statement_.get());
  return error;
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

bool Statement::is_text(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_TEXT;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
  return std::string(text_view(column));
}

std::string_view Statement::text_view(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::optional<std::int64_t> Statement::optional_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

std::optional<std::string> Statement::optional_text(int column) const {
  if (is_null(column)) return std::nullopt;
  return text(column);
}

void Database::Close::operator()(sqlite3* database) const {
  if (ours) sqlite3_close_v2(database);
}

Database Database::borrow(sqlite3* database) {
  return Database(database, false);
}

Result<Database> Database::open(const std::filesystem::path& path, Durability durability,
                                std::chrono::milliseconds busy_timeout) {
  sqlite3* raw = nullptr;
  // Debian's SQLite takes a name that begins with "file:" for a URI, whose options can make the
  // database one in memory. An absolute path is a path.
  const auto file = path == ":memory:" ? path : std::filesystem::absolute(path);
  const int result = sqlite3_open_v2(
      file.c_str(), &raw,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      nullptr);
  CHECK(raw != nullptr);
  Database database(raw);
  if (result != SQLITE_OK) {
    return fail(code_of(result),
                fmt::format("cannot open {}: {}", path.string(), sqlite3_errmsg(raw)));
  }
  sqlite3_busy_timeout(raw, static_cast<int>(busy_timeout.count()));
  const int switched = switch_to_wal(raw, busy_timeout);
  if (switched != SQLITE_OK) return failure(raw, switched);
  // What a statement may have to undo stays in memory, in small pieces: SQLite's own way takes
  // 64 KiB for every UPDATE and gives it back to the system (a third of the writer's time here),
  // and what is larger goes to a temporary file, secrets with it.
  const char* pragmas = "PRAGMA foreign_keys=ON; PRAGMA secure_delete=ON; PRAGMA temp_store=MEMORY";
  if (auto done = database.execute(pragmas); !done) return tl::unexpected(done.error());
  pragmas = durability == Durability::full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=OFF";
  if (auto done = database.execute(pragmas); !done) return tl::unexpected(done.error());
  return database;
}

Result<void> Database::execute(const char* sql) {
  const int result = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) return failure(database_.get(), result);
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int result = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (result != SQLITE_OK) return failure(database_.get(), result);
  CHECK(raw != nullptr);
  return Statement(raw);
}

std::int64_t Database::changes() const {
  return sqlite3_changes64(database_.get());
}

std::int64_t Database::total_changes() const {
  return sqlite3_total_changes64(database_.get());
}

bool Database::in_transaction() const {
  return sqlite3_get_autocommit(database_.get()) == 0;
}

Result<Transaction> Transaction::begin(Database& database) {
  if (auto done = database.execute("BEGIN IMMEDIATE"); !done) return tl::unexpected(done.error());
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database_ != nullptr) static_cast<void>(database_->execute("ROLLBACK"));
}

Result<void> Transaction::commit() {
  CHECK(database_ != nullptr);
  auto done = database_->execute("COMMIT");
  if (done) database_ = nullptr;  // else the destructor rolls back
  return done;
}

}  // namespace onceproof
