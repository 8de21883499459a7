#include "reference/group_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace onceproof {
namespace {

// How often the first in the queue lets others run before it writes, while fewer have come than
// last time.
constexpr int kGatherRounds = 8;

}  // namespace

void GroupWriter::submit(Job& job) {
  std::unique_lock lock(mutex_);
  if (queue_.size() >= limits_.queue_limit) {
    job.error = Error{
        ErrorCode::journal_unavailable,
        fmt::format("{} callers wait for the journal already; that is its limit", queue_.size())};
    return;
  }
  queue_.push_back(&job);
  job.wake.wait(lock, [&] { return job.done || queue_.front() == &job; });
  if (job.done) return;

  gather(lock);
  const auto size = static_cast<std::ptrdiff_t>(std::min(queue_.size(), limits_.max_batch));
  const std::vector<Job*> batch(queue_.begin(), queue_.begin() + size);
  lock.unlock();
  const auto error = run_batch(batch);
  lock.lock();
  last_batch_ = batch.size();
  queue_.erase(queue_.begin(), queue_.begin() + size);
  if (!queue_.empty()) queue_.front()->wake.notify_one();
  for (Job* member : batch) {
    member->error = error;
    member->done = true;
    member->wake
        .notify_one();  // under the lock: its owner may not leave before we are done with it
  }
}

// Callers that were woken by the last COMMIT are on their way back. Without this pause the first of
// them would write alone, and every second sync would be for one.
void GroupWriter::gather(std::unique_lock<std::mutex>& lock) {
  for (int i = 0; i < kGatherRounds && queue_.size() < last_batch_; ++i) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
}

// Returns what went wrong for all of them.
std::optional<Error> GroupWriter::run_batch(const std::vector<Job*>& batch) {
  if (auto begun = execute(begin_, "BEGIN IMMEDIATE"); !begun) return begun.error();
  auto done = run_jobs(batch);
  if (done) done = execute(commit_, "COMMIT");
  if (done) return std::nullopt;
  static_cast<void>(execute(rollback_, "ROLLBACK"));  // fails if SQLite did it already
  return Error{ErrorCode::journal_unavailable, std::move(done.error().message)};
}

Result<void> GroupWriter::run_jobs(const std::vector<Job*>& batch) {
  for (Job* job : batch) {
    if (auto done = run_with_savepoint(*job); !done) return done;
  }
  return {};
}

Result<void> GroupWriter::run_with_savepoint(Job& job) {
  if (auto done = execute(savepoint_, "SAVEPOINT job"); !done) return done;
  if (!job.run()) {
    // Fails if SQLite rolled back the whole transaction (disk full, I/O error): then it is lost for
    // all.
    if (auto undone = execute(undo_, "ROLLBACK TO job"); !undone) return undone;
  }
  return execute(release_, "RELEASE job");
}

Result<void> GroupWriter::execute(std::optional<Statement>& statement, std::string_view sql) {
  if (!statement) {
    auto prepared = database_.prepare(sql);
    if (!prepared) return tl::unexpected(prepared.error());
    statement = std::move(*prepared);
  }
  const auto done = statement->step();
  statement->reset();
  if (!done) return tl::unexpected(done.error());
  return {};
}

}  // namespace onceproof
