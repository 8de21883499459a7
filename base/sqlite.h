// SQLite behind values: a connection, a statement, a transaction. The reference's journal and the
// fakes' ledgers both stand on it; neither knows the other. Invariant: no exception, no leaked
// handle; every failure is an Error whose message has SQLite's own words.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace onceproof {

enum class Durability {
  full,  // WAL, synchronous=FULL: a committed transaction survives power loss
  fast,  // WAL, synchronous=OFF: survives kill -9 of this process, not power loss
};

// One prepared statement. Bind from 1, read columns from 0, as SQLite counts. One thread at a time.
class Statement {
 public:
  Statement(Statement&&) noexcept = default;
  Statement& operator=(Statement&&) noexcept = default;

  Statement& bind(int index, std::int64_t value);
  Statement& bind(int index, int value) { return bind(index, static_cast<std::int64_t>(value)); }
  Statement& bind(int index, std::string_view text);  // the text is copied
  Statement& bind(int index, const char* text) { return bind(index, std::string_view(text)); }
  Statement& bind(int index, std::nullopt_t);
  template <typename T>
  Statement& bind(int index, const std::optional<T>& value) {
    return value ? bind(index, *value) : bind(index, std::nullopt);
  }

  // True: a row is ready. False: done. Errors: as Database::execute.
  Result<bool> step();
  // Ready to run again, bindings cleared.
  void reset();

  bool is_null(int column) const;
  bool is_text(int column) const;
  std::int64_t integer(int column) const;
  std::string text(int column) const;
  std::string_view text_view(int column) const;  // until the next step or reset
  std::optional<std::int64_t> optional_integer(int column) const;
  std::optional<std::string> optional_text(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// One connection. One thread at a time.
class Database {
 public:
  // Opens or creates a file; the name is never a URI. ":memory:" is allowed. What is deleted is
  // overwritten. Errors: journal_unavailable (cannot open, busy), journal_corrupt (no database).
  static Result<Database> open(const std::filesystem::path& path, Durability durability,
                               std::chrono::milliseconds busy_timeout);
  // Somebody else's connection, which stays theirs and outlives this.
  static Database borrow(sqlite3* database);
  Database(Database&&) noexcept = default;
  Database& operator=(Database&&) noexcept = default;

  // Runs statements without results. Errors: already_exists (a unique constraint), invalid_argument
  // (any other constraint), journal_corrupt, journal_unavailable (busy, no space, no permission,
  // wrong SQL).
  Result<void> execute(const char* sql);
  Result<Statement> prepare(std::string_view sql);
  std::int64_t changes() const;        // rows changed by the last statement
  std::int64_t total_changes() const;  // the same, of all since it was opened
  bool in_transaction() const;
  sqlite3* handle() { return database_.get(); }

 private:
  struct Close {
    bool ours = true;
    void operator()(sqlite3* database) const;
  };
  explicit Database(sqlite3* database, bool ours = true) : database_(database, Close{ours}) {}
  std::unique_ptr<sqlite3, Close> database_;
};

// BEGIN IMMEDIATE ... COMMIT; rolls back if it is left without commit(). The Database must outlive
// it where it stands.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  // Errors are indefinite unless the code says otherwise: after one, read before you write again.
  Result<void> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace onceproof
