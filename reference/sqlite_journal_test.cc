// What only the SQLite journal promises: the file, its schema, its damage, its disk. The rest:
// journal_conformance_test.cc.
#include "reference/sqlite_journal.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "reference/journal_samples.h"
#include "reference/sqlite_schema.h"

namespace onceproof {
namespace {

using namespace std::chrono_literals;

class SqliteJournalTest : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return dir_.path() / "journal.db"; }
  Result<std::unique_ptr<SqliteJournal>> try_open(SqliteJournalOptions options = {}) {
    return SqliteJournal::open(path(), options);
  }
  std::unique_ptr<SqliteJournal> open(SqliteJournalOptions options = {}) {
    auto journal = try_open(options);
    EXPECT_TRUE(journal) << journal.error().message;
    return std::move(journal.value());
  }
  Database raw() { return Database::open(path(), Durability::fast, 1s).value(); }
  Error open_error(SqliteJournalOptions options = {}) {
    auto journal = try_open(options);
    EXPECT_FALSE(journal) << "opened";
    return journal ? Error{ErrorCode::unsupported, "opened"} : journal.error();
  }
  // A journal with `count` finished payments.
  void fill(int count) {
    auto journal = open({.durability = Durability::fast});
    for (int n = 1; n <= count; ++n) {
      journal->register_and_claim(sample(n), "w1", at(30s)).value();
      journal->mark_succeeded(key(n), 1, {"pay_1", {{"status", "ok"}}}, at(2s), "w1").value();
    }
  }
  std::string pragma(const char* name) {
    auto database = raw();
    auto statement = database.prepare(fmt::format("PRAGMA {}", name)).value();
    EXPECT_TRUE(statement.step().value());
    return statement.text(0);
  }
  void overwrite(std::streamoff offset, const std::string& bytes) {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offset);
    file << bytes;
    ASSERT_TRUE(file.good());
  }

  TempDir dir_ = std::move(TempDir::make("onceproof-sqlite-journal").value());
};

// --- the file and its schema

TEST_F(SqliteJournalTest, ANewFileGetsTheSchemaAndItsMarks) {
  open();
  EXPECT_EQ(pragma("user_version"), std::to_string(kSchemaVersion));
  EXPECT_EQ(pragma("application_id"), std::to_string(0x4f6e6365));
  EXPECT_EQ(pragma("journal_mode"), "wal");
}

TEST_F(SqliteJournalTest, WhatWasWrittenIsThereAfterOpeningAgain) {
  fill(3);
  auto journal = open();
  EXPECT_EQ(journal->load(key(2)).value().external_id, "pay_1");
  EXPECT_FALSE(journal->register_operation(sample(2), "w2").value().created);
  EXPECT_TRUE(journal->verify(IntegrityCheck::full));
}

TEST_F(SqliteJournalTest, ANewerSchemaIsRefusedAndLeftAlone) {
  fill(1);
  ASSERT_TRUE(raw().execute(fmt::format("PRAGMA user_version={}", kSchemaVersion + 1).c_str()));
  const auto error = open_error();
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_NE(error.message.find(fmt::format("schema version {}", kSchemaVersion + 1)),
            std::string::npos);
  EXPECT_EQ(pragma("user_version"), std::to_string(kSchemaVersion + 1));
}

TEST_F(SqliteJournalTest, AnotherProgramsFileIsRefusedAndLeftAlone) {
  ASSERT_TRUE(raw().execute("CREATE TABLE notes(text TEXT); INSERT INTO notes VALUES ('mine')"));
  EXPECT_EQ(open_error().code, ErrorCode::unsupported);
  EXPECT_EQ(pragma("user_version"), "0");
  auto database = raw();
  EXPECT_FALSE(database.prepare("SELECT * FROM agent_operations"));
}

// A file as version 1 wrote it: no column of version 2, user_version 1.
TEST_F(SqliteJournalTest, AnOlderSchemaIsMigratedWithAllThatIsInIt) {
  fill(2);
  ASSERT_TRUE(
      raw().execute("DROP TRIGGER what_was_sealed_stays_or_goes; DROP INDEX operations_of_a_parent;"
                    "DROP INDEX operations_in_review;"
                    "ALTER TABLE agent_operations DROP COLUMN sealed_params;"
                    "ALTER TABLE agent_operations DROP COLUMN parent_key;"
                    "ALTER TABLE agent_operations DROP COLUMN attempt_until;"
                    "PRAGMA user_version=1"));
  auto journal = open();
  EXPECT_EQ(pragma("user_version"), std::to_string(kSchemaVersion));
  EXPECT_EQ(journal->load(key(2)).value().external_id, "pay_1");
  Operation kept = sample(3);
  kept.sealed_params = "sealed";
  journal->register_operation(kept, "w1").value();
  EXPECT_EQ(journal->load(key(3)).value().sealed_params, "sealed");
  EXPECT_TRUE(journal->verify(IntegrityCheck::full));
}

TEST_F(SqliteJournalTest, AJournalMayLiveInTheCallersFile) {
  ASSERT_TRUE(raw().execute("CREATE TABLE orders(id TEXT); PRAGMA user_version=7"));
  {
    auto journal = open({.file = FileUse::shared});
    journal->register_operation(sample(1), "w1").value();
  }
  auto again = open({.file = FileUse::shared});
  EXPECT_EQ(again->load(key(1)).value().status, Status::pending);
  EXPECT_EQ(pragma("user_version"), "7");  // the caller's own
  EXPECT_EQ(pragma("application_id"), "0");
  EXPECT_EQ(open_error().code, ErrorCode::unsupported);
  ASSERT_TRUE(raw().execute("UPDATE onceproof_journal SET version = 99"));
  EXPECT_EQ(open_error({.file = FileUse::shared}).code, ErrorCode::unsupported);
}

TEST_F(SqliteJournalTest, AFileThatIsNoDatabaseIsCorrupt) {
  ASSERT_TRUE(write_file(path(), std::string(8192, 'x')));
  EXPECT_EQ(open_error().code, ErrorCode::journal_corrupt);
}

TEST_F(SqliteJournalTest, WhatIsNoFileIsRefused) {
  for (const char* name : {":memory:", ""}) {
    const auto journal = SqliteJournal::open(name);
    ASSERT_FALSE(journal);
    EXPECT_EQ(journal.error().code, ErrorCode::invalid_argument);
  }
  const auto journal = SqliteJournal::open(dir_.path() / "no" / "folder" / "j.db");
  ASSERT_FALSE(journal);
  EXPECT_EQ(journal.error().code, ErrorCode::journal_unavailable);
  EXPECT_NE(journal.error().message.find("no/folder/j.db"), std::string::npos);
}

TEST_F(SqliteJournalTest, ManyOpenANewFileAtOnce) {
  std::atomic<int> opened = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        auto journal = SqliteJournal::open(path(), {.durability = Durability::fast});
        if (journal) {
          ++opened;
        } else {
          ADD_FAILURE() << journal.error().message;
        }
      });
    }
  }
  EXPECT_EQ(opened, 8);
}

// --- what the schema refuses by itself, whoever writes

TEST_F(SqliteJournalTest, TheSchemaRefusesWhatMustNeverBe) {
  fill(2);
  open()->register_operation(sample(3), "w1").value();
  auto database = raw();
  const auto refused = [&](const char* sql) {
    const auto done = database.execute(sql);
    EXPECT_FALSE(done) << sql;
    return done ? std::string() : done.error().message;
  };
  EXPECT_NE(refused("UPDATE operation_events SET reason = 'x'").find("append-only"),
            std::string::npos);
  EXPECT_NE(refused("DELETE FROM operation_events").find("append-only"), std::string::npos);
  EXPECT_NE(refused("DELETE FROM agent_operations").find("not terminal"), std::string::npos);
  EXPECT_NE(refused("UPDATE agent_operations SET status = 'pending' WHERE status = 'succeeded'")
                .find("never changes"),
            std::string::npos);
  EXPECT_NE(refused("UPDATE agent_operations SET request_hash = printf('%064d', 1)")
                .find("never changes"),
            std::string::npos);
  EXPECT_NE(refused("UPDATE agent_operations SET operation_key = 'x'").find("never changes"),
            std::string::npos);
  refused("UPDATE agent_operations SET status = 'failed' WHERE operation_key = 'op_0003'");
  // In turn: without a lease, without an id, since when?, and a text where STRICT wants a number.
  refused("UPDATE agent_operations SET status = 'in_progress' WHERE operation_key = 'op_0003'");
  refused("UPDATE agent_operations SET status = 'succeeded' WHERE operation_key = 'op_0003'");
  refused("UPDATE agent_operations SET status = 'unknown' WHERE operation_key = 'op_0003'");
  refused("UPDATE agent_operations SET review_since = 1 WHERE operation_key = 'op_0003'");
  refused("UPDATE agent_operations SET attempt_count = 'many' WHERE operation_key = 'op_0003'");
  refused("INSERT INTO operation_events VALUES ('op_0001', 3, 1, 'w', NULL, 'pending', 'x', '')");
  refused("INSERT INTO operation_events VALUES ('op_0001', 9, 1, 'w', 'gone', 'pending', 'x', '')");
  EXPECT_TRUE(open()->verify(IntegrityCheck::full));
}

// --- damage

TEST_F(SqliteJournalTest, ADamagedPageIsFoundAtOpen) {
  fill(200);
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path()));
  ASSERT_GT(size, 20 * 4096);
  int found = 0, pages = 0;
  for (std::streamoff page = 4096; page < size; page += 4096) {
    const auto whole = read_file(path()).value();
    overwrite(page, std::string(64, '\xff'));  // the page's header
    if (open_error().code == ErrorCode::journal_corrupt) ++found;
    ++pages;
    overwrite(page, whole.substr(static_cast<std::size_t>(page), 64));
  }
  EXPECT_EQ(found, pages);
  EXPECT_TRUE(try_open());
}

TEST_F(SqliteJournalTest, ATruncatedFileIsFoundAtOpen) {
  fill(200);
  const auto size = std::filesystem::file_size(path());
  std::filesystem::resize_file(path(), size / 2);
  EXPECT_EQ(open_error().code, ErrorCode::journal_corrupt);
}

TEST_F(SqliteJournalTest, TheFullCheckFindsAnIndexThatLies) {
  fill(3);
  {
    auto database = raw();
    ASSERT_TRUE(
        database.execute("PRAGMA writable_schema=ON;"
                         "UPDATE sqlite_schema SET sql = replace(sql, 'IS NOT NULL', 'IS NULL')"
                         " WHERE name = 'operations_due'"));
  }
  EXPECT_EQ(open_error({.check_at_open = IntegrityCheck::full}).code, ErrorCode::journal_corrupt);
}

TEST_F(SqliteJournalTest, TheFullCheckFindsAStatusWithoutItsEvent) {
  fill(2);
  open()->register_operation(sample(3), "w1").value();
  ASSERT_TRUE(raw().execute(
      "UPDATE agent_operations SET status = 'failed_final' WHERE operation_key = 'op_0003'"));
  EXPECT_TRUE(try_open());  // the pages are sound
  const auto error = open_error({.check_at_open = IntegrityCheck::full});
  EXPECT_EQ(error.code, ErrorCode::journal_corrupt);
  EXPECT_NE(error.message.find("the status is not that of the last event: op_0003"),
            std::string::npos)
      << error.message;
}

TEST_F(SqliteJournalTest, TheFullCheckFindsMissingAndLostEvents) {
  fill(2);
  ASSERT_TRUE(
      raw().execute("DROP TRIGGER events_go_with_their_operation; DELETE FROM operation_events "
                    "WHERE operation_key = 'op_0002' AND seq = 1"));
  EXPECT_NE(open_error({.check_at_open = IntegrityCheck::full})
                .message.find("an event is missing: op_0002"),
            std::string::npos);
  ASSERT_TRUE(raw().execute("DELETE FROM agent_operations WHERE operation_key = 'op_0002'"));
  EXPECT_NE(open_error({.check_at_open = IntegrityCheck::full})
                .message.find("events without an operation: op_0002"),
            std::string::npos);
}

// --- locks

TEST_F(SqliteJournalTest, AWriterThatFindsTheLockHeldGivesUpInBoundedTime) {
  auto journal = open({.busy_timeout = 20ms});
  journal->register_operation(sample(1), "w1").value();
  {
    auto other = raw();
    auto transaction = Transaction::begin(other).value();
    const auto refused = journal->register_operation(sample(2), "w1");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::journal_unavailable);
    EXPECT_EQ(refused.error().certainty(), Certainty::indefinite);
    EXPECT_NE(refused.error().message.find("database is locked"), std::string::npos);
    EXPECT_EQ(journal->claim({key(1), 0, "w1", at(1s), at(9s)}).error().code,
              ErrorCode::journal_unavailable);
    // Reading goes on, so a repeat has its answer.
    EXPECT_TRUE(journal->load(key(1)));
    EXPECT_TRUE(journal->find("t1", "create_payment", sample(1).intent_id).value());
    EXPECT_TRUE(journal->take_due(at(0s), 1s, 10));
  }
  EXPECT_TRUE(journal->register_operation(sample(2), "w1").value().created);
  EXPECT_EQ(journal->events(key(2)).value().size(), 1u);
}

TEST_F(SqliteJournalTest, ReadersAreBoundedAndShared) {
  auto journal = open({.durability = Durability::fast, .max_readers = 1});
  journal->register_operation(sample(1), "w1").value();
  std::atomic<int> read = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) read += journal->load(key(1)) ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(read, 400);
}

TEST_F(SqliteJournalTest, TheDefaultSurvivesPowerLoss) {
  EXPECT_EQ(SqliteJournalOptions{}.durability, Durability::full);
  auto database = Database::open(path(), Durability::full, 1s).value();
  auto statement = database.prepare("PRAGMA synchronous").value();
  ASSERT_TRUE(statement.step().value());
  EXPECT_EQ(statement.integer(0), 2);  // FULL
}

TEST_F(SqliteJournalTest, AMigrationThatFailsLeavesTheOldVersionWhole) {
  fill(1);
  ASSERT_TRUE(
      raw().execute("DROP TRIGGER what_was_sealed_stays_or_goes; DROP INDEX operations_of_a_parent;"
                    "DROP INDEX operations_in_review;"
                    "ALTER TABLE agent_operations DROP COLUMN sealed_params;"
                    "ALTER TABLE agent_operations DROP COLUMN parent_key;"
                    // What the migration will find in its way, at its last column.
                    "PRAGMA user_version=1"));
  EXPECT_FALSE(try_open());
  EXPECT_EQ(pragma("user_version"), "1");
  auto database = raw();
  EXPECT_FALSE(database.prepare("SELECT sealed_params FROM agent_operations"));
  ASSERT_TRUE(database.execute("ALTER TABLE agent_operations DROP COLUMN attempt_until"));
  EXPECT_EQ(open()->load(key(1)).value().external_id, "pay_1");
}

// A success and what follows it are one transaction.
TEST_F(SqliteJournalTest, ASuccessWhoseFollowUpFindsTheDiskFullIsNotRecorded) {
  auto journal = open();
  journal->register_and_claim(sample(1), "w1", at(30s)).value();
  Operation follow_up = sample(2);
  follow_up.sealed_params = std::string(60'000, 's');
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit small {
    std::filesystem::file_size(dir_.path() / "journal.db-wal") + 20'000, before.rlim_max
  };
  const auto old = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto full =
      journal->mark_succeeded(key(1), 1, {"pay_1", nullptr, {follow_up}}, at(1s), "w1");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, old);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::journal_unavailable);
  EXPECT_EQ(journal->load(key(1)).value().status, Status::in_progress);
  const auto done =
      journal->mark_succeeded(key(1), 1, {"pay_1", nullptr, {follow_up}}, at(1s), "w1");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(journal->load(key(2)).value().status, Status::pending);
}

}  // namespace
}  // namespace onceproof
