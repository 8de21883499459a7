// What a journal that was told to be durable survives: kill -9 and a power cut, with many callers
// in a group, in the very configuration that bench/journal_bench.cc measures (the default one).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <latch>
#include <thread>

#include "base/file.h"
#include "base/guarded.h"
#include "reference/journal_samples.h"
#include "reference/sqlite_journal.h"
#include "reference/synced_vfs.h"

namespace onceproof {
namespace {

constexpr int kCallers = 8;

// Numbers of finished operations that were acknowledged, by 8 callers, until `go_on` says no.
template <typename GoOn, typename Acknowledge>
void run_callers(Journal& journal, GoOn go_on, Acknowledge acknowledge) {
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      for (int i = 0; go_on(); ++i) {
        const int n = caller * 1'000'000 + i;
        if (!journal.register_and_claim(sample(n), "w1", at(Milliseconds{30'000}))) return;
        if (!journal.mark_succeeded(key(n), 1, {"pay_1", nullptr}, at(Milliseconds{1}), "w1")) {
          return;
        }
        acknowledge(n);
      }
    });
  }
}

void expect_finished(Journal& journal, const std::vector<int>& acknowledged) {
  for (const int n : acknowledged) {
    const auto operation = journal.load(key(n));
    ASSERT_TRUE(operation) << n << ": " << operation.error().message;
    EXPECT_EQ(operation->status, Status::succeeded) << n;
    EXPECT_EQ(journal.events(key(n)).value().size(), 3u) << n;
  }
}

TEST(SqliteDurabilityTest, KillNineLosesNothingAcknowledged) {
  for (int round = 0; round < 5; ++round) {
    const auto dir = TempDir::make("onceproof-durability").value();
    int pipe_ends[2];
    ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto journal = SqliteJournal::open(dir.path() / "journal.db").value();
      run_callers(
          *journal, [] { return true; },
          [&](int n) { static_cast<void>(write(pipe_ends[1], &n, sizeof n)); });
      _exit(1);
    }
    close(pipe_ends[1]);
    std::vector<int> acknowledged;
    int n = 0;
    // Another moment each round; what comes after the kill was acknowledged before it.
    while (read(pipe_ends[0], &n, sizeof n) == sizeof n) {
      acknowledged.push_back(n);
      if (acknowledged.size() == static_cast<std::size_t>(37 + 61 * round)) kill(child, SIGKILL);
    }
    close(pipe_ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const auto journal = SqliteJournal::open(dir.path() / "journal.db").value();
    EXPECT_TRUE(journal->verify(IntegrityCheck::full));
    expect_finished(*journal, acknowledged);
  }
}

// The disk as it is at a power cut, at a moment at which some calls are acknowledged and others are
// under way.
std::size_t lost_at_power_cut(Durability durability) {
  const auto dir = TempDir::make("onceproof-durability").value();
  const auto disk = dir.path() / "disk";
  const auto after = dir.path() / "after";
  std::filesystem::create_directory(disk);
  Guarded<std::vector<int>> acknowledged;
  std::vector<int> before_cut;
  {
    const SyncedVfs vfs(disk);
    const auto journal =
        SqliteJournal::open(dir.path() / "journal.db", {.durability = durability}).value();
    std::atomic<int> count = 0;
    run_callers(
        *journal, [&] { return count < 300; },
        [&](int n) {
          acknowledged.lock()->push_back(n);
          if (++count != 150) return;
          before_cut = *acknowledged.lock();  // first: these are acknowledged, so on the disk now
          vfs.copy_disk(after);
        });
  }
  const auto journal = SqliteJournal::open(after / "journal.db");
  if (!journal) return before_cut.size();
  EXPECT_TRUE((*journal)->verify(IntegrityCheck::full));
  std::size_t lost = 0;
  for (const int n : before_cut) {
    const auto operation = (*journal)->load(key(n));
    if (!operation || operation->status != Status::succeeded) ++lost;
  }
  return lost;
}

TEST(SqliteDurabilityTest, LostUnsyncedWritesLoseNothingAcknowledged) {
  EXPECT_EQ(lost_at_power_cut(SqliteJournalOptions{}.durability), 0U);
}

// The test above can fail: what is not synced is lost here.
TEST(SqliteDurabilityTest, WithoutSyncsAPowerCutLosesWhatWasAcknowledged) {
  EXPECT_GT(lost_at_power_cut(Durability::fast), 0U);
}

}  // namespace
}  // namespace onceproof
