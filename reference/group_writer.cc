#include "reference/group_writer.h"

#include <fmt/format.h>

#include <thread>

namespace onceproof {
namespace {

// How often the leader of a group lets others run before it commits, while fewer have come than
// last time.
constexpr int kGatherRounds = 32;

}  // namespace

void GroupWriter::submit(Job& job) {
  const Place place = join(job);
  if (!place.group) return;
  if (place.leads) {
    place.group->turn.wait(0);
    lead(*place.group);
  } else {
    place.group->done.wait(0);
  }
}

// No group: the queue is full, and the job has its error.
GroupWriter::Place GroupWriter::join(Job& job) {
  const std::scoped_lock lock(mutex_);
  if (waiting_ >= limits_.queue_limit) {
    job.error =
        Error{ErrorCode::journal_unavailable,
              fmt::format("{} callers wait for the journal already; that is its limit", waiting_)};
    return {};
  }
  ++waiting_;
  if (groups_.empty() || groups_.back()->closed) {
    groups_.push_back(std::make_shared<Group>());
    if (groups_.size() == 1) groups_.back()->turn = 1;
  }
  const auto& group = groups_.back();
  group->jobs.push_back(&job);
  group->closed = group->jobs.size() >= limits_.max_batch;
  return {group, group->jobs.size() == 1};
}

void GroupWriter::lead(Group& group) {
  const auto error = write_group(group);
  for (Job* job : group.jobs) job->error = error;
  std::unique_lock lock(mutex_);
  last_size_ = group.jobs.size();
  waiting_ -= group.jobs.size();
  groups_.pop_front();  // the caller of submit() still holds it
  const auto next = groups_.empty() ? nullptr : groups_.front();
  lock.unlock();
  if (next) {
    next->turn = 1;
    next->turn.notify_one();
  }
  group.done = 1;
  group.done.notify_all();
}

// The jobs that joined after the first `taken` ones; none: the group is closed. Callers that were
// woken by the last COMMIT are on their way back: without the pause the first of them would be
// written alone, and every second sync would be for one.
std::vector<GroupWriter::Job*> GroupWriter::take(Group& group, std::size_t taken) {
  std::unique_lock lock(mutex_);
  for (int i = 0; i < kGatherRounds && group.jobs.size() == taken && taken < last_size_; ++i) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
  if (group.jobs.size() == taken) group.closed = true;
  return {group.jobs.begin() + static_cast<std::ptrdiff_t>(taken), group.jobs.end()};
}

void GroupWriter::close(Group& group) {
  const std::scoped_lock lock(mutex_);
  group.closed = true;
}

// Returns what went wrong for all of them.
std::optional<Error> GroupWriter::write_group(Group& group) {
  auto ran = execute(begin_, "BEGIN IMMEDIATE").and_then([&] { return run_jobs(group); });
  close(group);
  auto done = ran.map([](Ran) {});
  if (ran && *ran == Ran::some_wrote_and_failed) {
    done = execute(rollback_, "ROLLBACK")
               .and_then([&] { return execute(begin_, "BEGIN IMMEDIATE"); })
               .and_then([&] { return run_jobs_with_savepoints(group.jobs); });
  }
  if (done) done = execute(commit_, "COMMIT");
  if (done) return std::nullopt;
  // Fails if none was begun, or SQLite did it already.
  static_cast<void>(execute(rollback_, "ROLLBACK"));
  return Error{ErrorCode::journal_unavailable, std::move(done.error().message)};
}

// A job that fails has mostly written nothing: then there is nothing to undo. So savepoints, which
// copy every page that a job changes, are for the second try only.
Result<GroupWriter::Ran> GroupWriter::run_jobs(Group& group) {
  std::size_t taken = 0;
  while (true) {
    const auto jobs = take(group, taken);
    if (jobs.empty()) return Ran::all;
    taken += jobs.size();
    for (Job* job : jobs) {
      const auto before = database_.total_changes();
      const bool ok = job->run();
      if (auto alive = check_transaction(); !alive) return tl::unexpected(alive.error());
      if (!ok && database_.total_changes() != before) return Ran::some_wrote_and_failed;
    }
  }
}

Result<void> GroupWriter::run_jobs_with_savepoints(const std::vector<Job*>& jobs) {
  for (Job* job : jobs) {
    if (auto done = execute(savepoint_, "SAVEPOINT job"); !done) return done;
    const bool ok = job->run();
    if (auto alive = check_transaction(); !alive) return alive;
    if (!ok) {
      if (auto undone = execute(undo_, "ROLLBACK TO job"); !undone) return undone;
    }
    if (auto done = execute(release_, "RELEASE job"); !done) return done;
  }
  return {};
}

// SQLite rolls back by itself when the disk is full or fails: then it is lost for all, and the next
// statement would be a transaction of its own.
Result<void> GroupWriter::check_transaction() const {
  if (database_.in_transaction()) return {};
  return fail(ErrorCode::journal_unavailable,
              "SQLite rolled the transaction back; the disk is full or failing");
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
