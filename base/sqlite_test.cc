#include "base/sqlite.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "base/file.h"

namespace onceproof {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;

class SqliteTest : public ::testing::Test {
 protected:
  Database open(std::chrono::milliseconds busy_timeout = 0ms) {
    auto database = Database::open(path(), Durability::fast, busy_timeout);
    EXPECT_TRUE(database) << database.error().message;
    return std::move(database.value());
  }
  Database open_with_table() {
    Database database = open();
    EXPECT_TRUE(
        database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE, n INTEGER NOT "
                         "NULL CHECK(n > 0)) STRICT"));
    return database;
  }
  std::filesystem::path path() const { return dir_.path() / "t.db"; }

  TempDir dir_ = std::move(TempDir::make("onceproof-sqlite-test").value());
};

std::int64_t count(Database& database) {
  auto statement = database.prepare("SELECT count(*) FROM t").value();
  EXPECT_TRUE(statement.step().value());
  return statement.integer(0);
}

std::string pragma(Database& database, std::string_view name) {
  auto statement = database.prepare("PRAGMA " + std::string(name)).value();
  EXPECT_TRUE(statement.step().value());
  return statement.text(0);
}

TEST_F(SqliteTest, BindsAndReadsEveryType) {
  Database database = open();
  auto statement = database.prepare("SELECT ?1, ?2, ?3, ?4, ?5, ?6").value();
  statement.bind(1, std::int64_t{INT64_MIN})
      .bind(2, "a\0b"sv)
      .bind(3, std::nullopt)
      .bind(4, std::optional<std::string>("x"))
      .bind(5, std::optional<std::int64_t>())
      .bind(6, std::string_view());
  ASSERT_TRUE(statement.step().value());
  EXPECT_EQ(statement.integer(0), INT64_MIN);
  EXPECT_EQ(statement.text(1), "a\0b"sv);
  EXPECT_TRUE(statement.is_null(2));
  EXPECT_EQ(statement.optional_text(2), std::nullopt);
  EXPECT_EQ(statement.optional_text(3), "x");
  EXPECT_EQ(statement.optional_integer(4), std::nullopt);
  EXPECT_EQ(statement.optional_text(5), "");  // an empty text is not NULL
  EXPECT_EQ(statement.optional_integer(0), INT64_MIN);
  EXPECT_FALSE(statement.step().value());
}

TEST_F(SqliteTest, AResetStatementRunsAgainWithoutOldBindings) {
  Database database = open();
  auto statement = database.prepare("SELECT ?1").value();
  ASSERT_TRUE(statement.bind(1, "old").step().value());
  statement.reset();
  ASSERT_TRUE(statement.step().value());
  EXPECT_TRUE(statement.is_null(0));
}

TEST_F(SqliteTest, ATextIsCopiedWhenItIsBound) {
  Database database = open();
  auto statement = database.prepare("SELECT ?1").value();
  std::string text = "first text, long enough for the heap";
  statement.bind(1, text);
  text.assign(text.size(), 'x');
  ASSERT_TRUE(statement.step().value());
  EXPECT_EQ(statement.text(0), "first text, long enough for the heap");
}

TEST_F(SqliteTest, OpensWithTheDurabilityThatWasAsked) {
  {
    Database database = open();
    EXPECT_EQ(pragma(database, "journal_mode"), "wal");
    EXPECT_EQ(pragma(database, "synchronous"), "0");
    EXPECT_EQ(pragma(database, "foreign_keys"), "1");
  }
  Database database = Database::open(path(), Durability::full, 0ms).value();
  EXPECT_EQ(pragma(database, "journal_mode"), "wal");
  EXPECT_EQ(pragma(database, "synchronous"), "2");
}

TEST_F(SqliteTest, CommittedRowsOutliveTheConnection) {
  {
    Database database = open_with_table();
    auto transaction = Transaction::begin(database).value();
    ASSERT_TRUE(database.execute("INSERT INTO t VALUES(1, 'a', 1), (2, 'b', 2)"));
    EXPECT_EQ(database.changes(), 2);
    ASSERT_TRUE(transaction.commit());
  }
  Database database = open();
  EXPECT_EQ(count(database), 2);
}

TEST_F(SqliteTest, ATransactionThatIsLeftIsRolledBack) {
  Database database = open_with_table();
  {
    auto transaction = Transaction::begin(database).value();
    ASSERT_TRUE(database.execute("INSERT INTO t VALUES(1, 'a', 1)"));
    EXPECT_EQ(count(database), 1);
  }
  EXPECT_EQ(count(database), 0);
  EXPECT_TRUE(Transaction::begin(database));  // and the next one may begin
}

TEST_F(SqliteTest, AMovedTransactionEndsOnce) {
  Database database = open_with_table();
  {
    auto first = Transaction::begin(database).value();
    Transaction second(std::move(first));
    ASSERT_TRUE(database.execute("INSERT INTO t VALUES(1, 'a', 1)"));
    ASSERT_TRUE(second.commit());
  }
  EXPECT_EQ(count(database), 1);
}

TEST_F(SqliteTest, ATransactionCommitsOnce) {
  Database database = open_with_table();
  auto transaction = Transaction::begin(database).value();
  ASSERT_TRUE(transaction.commit());
  EXPECT_DEATH(static_cast<void>(transaction.commit()), "CHECK");
}

TEST_F(SqliteTest, AUniqueConstraintSaysThatItExists) {
  Database database = open_with_table();
  ASSERT_TRUE(database.execute("INSERT INTO t VALUES(1, 'a', 1)"));
  for (const auto* sql : {"INSERT INTO t VALUES(1, 'b', 1)", "INSERT INTO t VALUES(2, 'a', 1)"}) {
    const auto done = database.execute(sql);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::already_exists) << done.error().message;
    EXPECT_NE(done.error().message.find("UNIQUE constraint failed: t."), std::string::npos);
    EXPECT_NE(done.error().message.find(path().string()), std::string::npos);
  }
  EXPECT_EQ(count(database), 1);
}

TEST_F(SqliteTest, AnyOtherConstraintIsAWrongValue) {
  Database database = open_with_table();
  ASSERT_TRUE(database.execute("CREATE TABLE child(id INTEGER REFERENCES t(id)) STRICT"));
  for (const auto* sql : {"INSERT INTO t VALUES(1, 'a', 0)", "INSERT INTO t VALUES(1, 'a', NULL)",
                          "INSERT INTO t VALUES(1, 'a', 'x')", "INSERT INTO child VALUES(7)"}) {
    const auto done = database.execute(sql);
    ASSERT_FALSE(done) << sql;
    EXPECT_EQ(done.error().code, ErrorCode::invalid_argument) << done.error().message;
  }
}

TEST_F(SqliteTest, AStepThatFailsCanBeRepeated) {
  Database database = open_with_table();
  auto statement = database.prepare("INSERT INTO t VALUES(?1, ?2, 1)").value();
  ASSERT_TRUE(statement.bind(1, 1).bind(2, "a").step());
  statement.reset();
  const auto done = statement.bind(1, 1).bind(2, "b").step();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::already_exists);
  statement.reset();
  EXPECT_TRUE(statement.bind(1, 2).bind(2, "b").step());
  EXPECT_EQ(count(database), 2);
}

TEST_F(SqliteTest, ALockedDatabaseIsUnavailable) {
  Database first = open_with_table();
  Database second = open();
  auto held = Transaction::begin(first).value();
  const auto refused = Transaction::begin(second);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::journal_unavailable);
  EXPECT_NE(refused.error().message.find("database is locked"), std::string::npos);
}

TEST_F(SqliteTest, AWriterWaitsForAnotherWithinItsBusyTimeout) {
  Database first = open_with_table();
  Database second = open(30s);
  auto held = std::optional(std::move(Transaction::begin(first).value()));
  std::jthread waiter([&] {
    auto transaction = Transaction::begin(second);
    ASSERT_TRUE(transaction) << transaction.error().message;
    EXPECT_TRUE(transaction->commit());
  });
  held.reset();
}

TEST_F(SqliteTest, ManyMayOpenAFreshFileAtOnce) {
  constexpr int kOpeners = 8;
  for (int round = 0; round < 10; ++round) {
    const auto file = dir_.path() / std::to_string(round);
    std::barrier start(kOpeners);
    std::vector<std::jthread> openers;
    for (int i = 0; i < kOpeners; ++i) {
      openers.emplace_back([&] {
        start.arrive_and_wait();
        auto database = Database::open(file, Durability::fast, 30s);
        EXPECT_TRUE(database) << database.error().message;
      });
    }
  }
}

TEST_F(SqliteTest, AFileThatIsNoDatabaseIsCorrupt) {
  ASSERT_TRUE(write_file(path(), std::string(4096, 'x')));
  const auto database = Database::open(path(), Durability::full, 0ms);
  ASSERT_FALSE(database);
  EXPECT_EQ(database.error().code, ErrorCode::journal_corrupt);
  EXPECT_NE(database.error().message.find(path().string()), std::string::npos);
  EXPECT_NE(database.error().message.find("file is not a database"), std::string::npos);
}

TEST_F(SqliteTest, ADamagedPageIsCorrupt) {
  {
    Database database = open_with_table();
    ASSERT_TRUE(database.execute("INSERT INTO t VALUES(1, 'a', 1)"));
    ASSERT_TRUE(database.execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  }
  std::string bytes = read_file(path()).value();
  bytes.replace(4096, 4096, 4096, '\xff');  // the table's root page
  ASSERT_TRUE(write_file(path(), bytes));
  Database database = open();
  const auto done = database.execute("INSERT INTO t VALUES(2, 'b', 1)");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::journal_corrupt) << done.error().message;
}

TEST_F(SqliteTest, SaysWhichFileItCannotOpen) {
  const auto file = dir_.path() / "no" / "t.db";
  const auto database = Database::open(file, Durability::full, 0ms);
  ASSERT_FALSE(database);
  EXPECT_EQ(database.error().code, ErrorCode::journal_unavailable);
  EXPECT_EQ(database.error().message,
            "cannot open " + file.string() + ": unable to open database file");
}

TEST_F(SqliteTest, WrongSqlIsAnErrorWithSqlitesWords) {
  Database database = open();
  const auto statement = database.prepare("SELEKT 1");
  ASSERT_FALSE(statement);
  EXPECT_NE(statement.error().message.find("near \"SELEKT\": syntax error"), std::string::npos);
  EXPECT_FALSE(database.execute("INSERT INTO absent VALUES(1)"));
}

TEST(SqliteMemoryTest, LivesWithoutAFile) {
  Database database = Database::open(":memory:", Durability::fast, 0ms).value();
  ASSERT_TRUE(database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY)"));
  const auto done = database.execute("INSERT INTO t VALUES(1), (1)");
  ASSERT_FALSE(done);
  EXPECT_TRUE(done.error().message.starts_with("SQLite :memory:: ")) << done.error().message;
}

}  // namespace
}  // namespace onceproof
