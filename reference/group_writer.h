// Group commit: many threads, one connection, one sync for all who wait. The first in the queue
// writes for all who queued meanwhile; the others sleep until their own answer is durable. No
// thread of its own, so nothing to start, join or fork around. Invariants: a job runs at most once,
// on some caller's thread, alone; write() returns a job's own answer only after the COMMIT that
// holds it; a job that fails leaves nothing behind and harms no other. Measured here: with one
// connection a thread and busy_timeout, callers starve for seconds; a fair lock writes 601 a
// second. Source: LevelDB, DBImpl::Write (the queue); SQLite, "SAVEPOINT".
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
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

  // Runs `work` (it returns a Result) inside a transaction, and returns what it returned. If `work`
  // fails, what it wrote is undone. Errors: those of `work`; journal_unavailable (indefinite): the
  // transaction could not be begun within the connection's busy time-out or not be committed, or
  // the queue is full. Thread-safe. Blocks for at most the batches before its own.
  template <typename Work>
  auto write(Work work) -> decltype(work()) {
    decltype(work()) answer = fail(ErrorCode::journal_unavailable, "");
    Job job;
    job.run = [&] {
      answer = work();
      return answer.has_value();
    };
    submit(job);
    if (job.error) return tl::unexpected(std::move(*job.error));
    return answer;
  }

 private:
  struct Job {
    std::function<bool()> run;   // false: undo what it wrote
    std::optional<Error> error;  // of the transaction
    bool done = false;
    std::condition_variable wake;
  };

  void submit(Job& job);
  void gather(std::unique_lock<std::mutex>& lock);
  std::optional<Error> run_batch(const std::vector<Job*>& batch);
  Result<void> run_jobs(const std::vector<Job*>& batch);
  Result<void> run_with_savepoint(Job& job);
  Result<void> execute(std::optional<Statement>& statement, std::string_view sql);

  Database& database_;
  const Limits limits_;
  std::mutex mutex_;
  std::deque<Job*> queue_;  // the first one, if any, is writing
  std::size_t last_batch_ = 1;
  std::optional<Statement> begin_, commit_, rollback_, savepoint_, release_, undo_;
};

}  // namespace onceproof
