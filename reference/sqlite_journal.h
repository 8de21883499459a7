// The durable journal in one SQLite file: the embedded default. WAL, synchronous=FULL, BEGIN
// IMMEDIATE, STRICT tables. Invariants: a call that returned a value is on the disk (with
// Durability::full); one that returned journal_unavailable may be. No transaction is held between
// two calls. Schema: reference/sqlite_schema.cc; it refuses by itself what must never happen (a
// sixth status, a second row for one intent, an event changed, an unfinished operation deleted).
//
// Threads: safe for any number of threads, and for any number of processes on one file (on one
// machine, on a local disk: WAL needs shared memory). Threads of one SqliteJournal are written in
// groups: the first in the queue writes for all who queued meanwhile, one transaction for the
// group, one savepoint per caller; each is answered after COMMIT. If COMMIT fails, all of the group
// get journal_unavailable. Processes take turns at SQLite's lock, waiting at most busy_timeout.
// Blocks: at most (queue_limit / max_batch + 1) * busy_timeout, plus the disk.
// Times come from the caller; no clock is read here.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/sqlite.h"
#include "reference/journal.h"
#include "reference/retention.h"
#include "reference/sqlite_schema.h"

namespace onceproof {

enum class IntegrityCheck {
  none,   // only that the file is a journal of a known schema
  quick,  // every page, row and constraint, but not that indexes agree with tables; about 1 s a GB
  full,   // the same and the indexes, and that each operation ends where its last event says
};

struct SqliteJournalOptions {
  Durability durability = Durability::full;
  Milliseconds busy_timeout{5'000};  // for another process's transaction
  FileUse file = FileUse::own;
  IntegrityCheck check_at_open = IntegrityCheck::quick;
  std::size_t max_batch = 256;      // callers written in one transaction
  std::size_t queue_limit = 1'024;  // callers waiting; one more gets journal_unavailable at once
  std::size_t max_readers = 16;     // connections for load, find, list, events
};

class SqliteJournal final : public Journal, public TerminalRows {
 public:
  // Opens or creates, brings the schema up to date, checks the file.
  // Errors: journal_corrupt (damaged), unsupported (a newer schema, or another program's file),
  // invalid_argument (":memory:": use MemoryJournal), journal_unavailable (cannot be opened, locked
  // for longer than busy_timeout).
  static Result<std::unique_ptr<SqliteJournal>> open(const std::filesystem::path& path,
                                                     SqliteJournalOptions options = {});
  ~SqliteJournal() override;  // no call may be under way

  Result<Registered> register_operation(const Operation& operation,
                                        std::string_view actor) override;
  Result<Registered> register_and_claim(const Operation& operation, std::string_view owner,
                                        CivilTime lease_until) override;
  Result<Claim> claim(const ClaimRequest& request) override;
  Result<SuccessRecorded> mark_succeeded(std::string_view operation_key, std::int64_t attempt,
                                         const Success& success, CivilTime now,
                                         std::string_view actor) override;
  Result<Operation> mark_failed_final(std::string_view operation_key, std::int64_t attempt,
                                      const Failure& failure, CivilTime now,
                                      std::string_view actor) override;
  Result<Operation> mark_unknown(std::string_view operation_key, std::int64_t attempt,
                                 std::string_view error_code, CivilTime next_check_at,
                                 CivilTime now, std::string_view actor) override;
  Result<Operation> release_for_retry(std::string_view operation_key, std::int64_t attempt,
                                      std::string_view reason, std::optional<CivilTime> not_before,
                                      CivilTime now, std::string_view actor) override;
  Result<Operation> escalate(std::string_view operation_key, std::int64_t attempt,
                             std::string_view reason, CivilTime now,
                             std::string_view actor) override;
  Result<Operation> resolve(std::string_view operation_key, const Resolution& resolution,
                            const std::vector<Operation>& follow_ups, CivilTime now) override;
  Result<Operation> load(std::string_view operation_key) override;
  Result<std::optional<Operation>> find(std::string_view tenant, std::string_view action_type,
                                        std::string_view intent_id) override;
  Result<std::vector<Operation>> take_due(CivilTime now, Milliseconds hold,
                                          std::size_t limit) override;
  Result<std::vector<Operation>> list(const ListFilter& filter) override;
  Result<std::vector<Operation>> children(std::string_view parent_key) override;
  Result<std::vector<Event>> events(std::string_view operation_key) override;
  Result<std::size_t> purge_terminal(std::string_view action_type, CivilTime ended_before,
                                     std::size_t limit) override;

  // Errors: journal_corrupt, with the first thing found; journal_unavailable. Blocks for as long as
  // the file is big.
  Result<void> verify(IntegrityCheck check);

 private:
  struct Parts;
  explicit SqliteJournal(std::unique_ptr<Parts> parts);
  Result<Registered> registered(const Operation& operation, std::string_view actor,
                                std::optional<CivilTime> lease_until);

  std::unique_ptr<Parts> parts_;
};

}  // namespace onceproof
