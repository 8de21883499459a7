// Group commit: each caller's own answer, nobody's failure another's, nothing told before it is
// durable.
#include "reference/group_writer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "base/clock.h"
#include "base/file.h"

namespace onceproof {
namespace {

using namespace std::chrono_literals;

class GroupWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(database_.execute("CREATE TABLE t(n INTEGER PRIMARY KEY, by INTEGER) STRICT"));
  }
  Result<int> insert(int n, int by = 0) {
    auto statement = database_.prepare("INSERT INTO t VALUES (?1, ?2)").value();
    return statement.bind(1, n).bind(2, by).step().map([&](bool) { return n; });
  }
  std::int64_t count(const std::string& where = "1") {
    auto other = Database::open(path(), Durability::full, 1s).value();
    auto statement = other.prepare("SELECT count(*) FROM t WHERE " + where).value();
    EXPECT_TRUE(statement.step().value());
    return statement.integer(0);
  }
  std::filesystem::path path() const { return dir_.path() / "t.db"; }
  // Runs `jobs` in one group: a job of ours is its first one, and holds it open until they wait.
  void run_together(GroupWriter& writer, std::vector<std::function<void()>> jobs) {
    std::latch begun(1), go(1);
    std::jthread first([&] {
      static_cast<void>(writer.write([&]() -> Result<int> {
        begun.count_down();
        go.wait();
        return 0;
      }));
    });
    begun.wait();
    std::vector<std::jthread> threads;
    std::atomic<std::size_t> started = 0;
    for (auto& job : jobs) {
      threads.emplace_back([&] {
        ++started;
        job();
      });
    }
    while (started < jobs.size()) std::this_thread::yield();
    RealClock().wait_for(Milliseconds{50});  // now they are in the queue
    go.count_down();
  }

  TempDir dir_ = std::move(TempDir::make("onceproof-group-writer").value());
  Database database_ = Database::open(path(), Durability::full, 1s).value();
};

TEST_F(GroupWriterTest, EveryCallerGetsItsOwnAnswerAfterItIsThere) {
  GroupWriter writer(database_, {});
  std::vector<std::jthread> callers;
  for (int by = 0; by < 16; ++by) {
    callers.emplace_back([&, by] {
      for (int i = 0; i < 50; ++i) {
        const int n = by * 1000 + i;
        EXPECT_EQ(writer.write([&] { return insert(n, by); }).value(), n);
      }
    });
  }
  callers.clear();
  EXPECT_EQ(count(), 16 * 50);
}

TEST_F(GroupWriterTest, AFailedJobUndoesOnlyItself) {
  GroupWriter writer(database_, {});
  std::vector<std::function<void()>> jobs;
  for (int by = 1; by <= 12; ++by) {
    jobs.push_back([this, &writer, by] {
      const auto answer = writer.write([&]() -> Result<int> {
        if (auto done = insert(by, by); !done) return done;
        if (by % 3 == 0) return fail(ErrorCode::stale_attempt, "after it wrote");
        if (by % 4 == 0) return insert(by, by);  // a constraint fails in the middle
        return by;
      });
      EXPECT_EQ(answer.has_value(), by % 3 != 0 && by % 4 != 0) << by;
    });
  }
  run_together(writer, std::move(jobs));
  EXPECT_EQ(count(), 6);
  EXPECT_EQ(count("by % 3 = 0 OR by % 4 = 0"), 0);
}

TEST_F(GroupWriterTest, AFailedCommitFailsAllOfItsGroup) {
  ASSERT_TRUE(database_.execute(
      "CREATE TABLE c(n INTEGER REFERENCES t(n) DEFERRABLE INITIALLY DEFERRED) STRICT"));
  GroupWriter writer(database_, {});
  std::atomic<int> unavailable = 0;
  std::vector<std::function<void()>> jobs;
  for (int n = 1; n <= 8; ++n) {
    jobs.push_back([&, n] {
      const auto answer = writer.write([&]() -> Result<int> {
        // A dangling reference lets every statement pass and the COMMIT fail.
        if (auto dangling = database_.execute("INSERT INTO c VALUES (999)"); !dangling) {
          return tl::unexpected(dangling.error());
        }
        return insert(n);
      });
      ASSERT_FALSE(answer);
      EXPECT_EQ(answer.error().code, ErrorCode::journal_unavailable);
      EXPECT_EQ(answer.error().certainty(), Certainty::indefinite);
      ++unavailable;
    });
  }
  run_together(writer, std::move(jobs));
  EXPECT_EQ(unavailable, 8);
  EXPECT_EQ(count(), 0);
  EXPECT_TRUE(writer.write([&] { return insert(1); }));
}

TEST_F(GroupWriterTest, AFullQueueIsUnavailableAtOnce) {
  GroupWriter writer(database_, {.max_batch = 1, .queue_limit = 1});
  std::latch begun(1), go(1);
  std::jthread first([&] {
    writer
        .write([&]() -> Result<int> {
          begun.count_down();
          go.wait();
          return insert(1);
        })
        .value();
  });
  begun.wait();
  const auto refused = writer.write([&] { return insert(2); });
  go.count_down();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::journal_unavailable);
  EXPECT_NE(refused.error().message.find("wait for the journal already"), std::string::npos);
}

TEST_F(GroupWriterTest, AGroupIsNeverLargerThanItsLimit) {
  GroupWriter writer(database_, {.max_batch = 4});
  std::vector<std::function<void()>> jobs;
  for (int n = 1; n <= 20; ++n)
    jobs.push_back([&, n] { writer.write([&] { return insert(n); }).value(); });
  run_together(writer, std::move(jobs));
  EXPECT_EQ(count(), 20);
}

// A disk that is full rolls the whole transaction back: what came before it in the group is lost,
// too, and is not told to be there.
TEST_F(GroupWriterTest, AFullDiskFailsTheGroupAndTheNextOneGoesOn) {
  ASSERT_TRUE(database_.execute("CREATE TABLE big(b BLOB); PRAGMA max_page_count = 20"));
  GroupWriter writer(database_, {});
  const auto full = writer.write([&]() -> Result<int> {
    if (auto done = insert(1); !done) return done;
    auto done = database_.execute("INSERT INTO big VALUES (zeroblob(1000000))");
    if (!done) return tl::unexpected(done.error());
    return 1;
  });
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::journal_unavailable);
  EXPECT_EQ(count(), 0);
  EXPECT_TRUE(writer.write([&] { return insert(2); }));
  EXPECT_EQ(count(), 1);
}

}  // namespace
}  // namespace onceproof
