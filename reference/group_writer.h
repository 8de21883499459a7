// Group commit: many threads, one connection, one sync for all who wait. The first member of a
// group writes for all of it, also for those who come while it is at it; the others sleep until
// their own answer is durable. Who comes during the COMMIT joins the next group. No thread of its
// own, so nothing to start, join or fork around. Invariants: jobs run alone, on some caller's
// thread; one that runs a second time finds nothing of the first; write() returns a job's own
// answer only after the COMMIT that holds it; a job that fails leaves nothing behind and harms no
// other. Measured here: with one connection a thread and busy_timeout, callers starve for seconds;
// a fair lock writes 601 a second. Source: LevelDB, DBImpl::Write (the queue); SQLite, "SAVEPOINT".
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/sqlite.h"

namespace onceproof {

class GroupWriter {
 public:
  struct Limits {
    std::size_t max_batch = 256;      // jobs in one transaction
    std::size_t queue_limit = 1'024;  // callers that wait
  };

  // The database outlives the writer, and nobody else writes through it.
  GroupWriter(Database& database, Limits limits) : database_(database), limits_(limits) {}

  // Runs `work` (it returns a Result, and may run a second time, anew) inside a transaction,
  // and returns what it returned. If `work` fails, what it wrote is undone. Errors: those of
  // `work`; journal_unavailable (indefinite): the transaction could not be begun within the
  // connection's busy time-out or not be committed, or the queue is full. Thread-safe. Blocks for
  // at most the groups before its own.
  template <typename Work>
  auto write(Work work) -> decltype(work()) {
    WorkJob<Work> job(work);
    submit(job);
    if (job.error) return tl::unexpected(std::move(*job.error));
    return std::move(job.answer);
  }

 private:
  struct Job {
    virtual bool run() = 0;      // false: undo what it wrote
    std::optional<Error> error;  // of the transaction

   protected:
    ~Job() = default;
  };
  template <typename Work>
  struct WorkJob final : Job {
    explicit WorkJob(Work& w) : work(w) {}
    bool run() override {
      answer = work();
      return answer.has_value();
    }
    Work& work;
    std::invoke_result_t<Work&> answer = fail(ErrorCode::journal_unavailable, "");
  };
  // Jobs of one transaction; the thread of the first one writes them. Its members share it, because
  // a thread that is told `done` may leave before the telling has ended.
  struct Group {
    std::vector<Job*> jobs;    // under mutex_ until it is closed
    bool closed = false;       // under mutex_; who comes now opens another
    std::atomic<int> turn{0};  // 1: all groups before it are written
    std::atomic<int> done{0};  // 1: every job has its answer
  };

  struct Place {
    std::shared_ptr<Group> group;
    bool leads = false;  // its first job
  };

  void submit(Job& job);
  Place join(Job& job);
  void lead(Group& group);
  std::vector<Job*> take(Group& group, std::size_t taken);
  void close(Group& group);

  std::optional<Error> write_group(Group& group);
  enum class Ran { all, some_wrote_and_failed };
  Result<Ran> run_jobs(Group& group);
  Result<void> run_jobs_with_savepoints(const std::vector<Job*>& jobs);
  Result<void> check_transaction() const;
  Result<void> execute(std::optional<Statement>& statement, std::string_view sql);

  Database& database_;
  const Limits limits_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<Group>> groups_;  // the first one is being written; the last one grows
  std::size_t waiting_ = 0;                    // jobs in groups_
  std::size_t last_size_ = 1;
  std::optional<Statement> begin_, commit_, rollback_, savepoint_, release_, undo_;
};

}  // namespace onceproof
