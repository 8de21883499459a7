// What is done to the tables inside a transaction that somebody else began: SqliteJournal's own, or
// the caller's (reference/outbox.h). Invariant: each change of a row writes its event beside it.
// Begins and commits nothing. One thread at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "reference/journal.h"
#include "reference/sqlite_rows.h"

namespace onceproof {

// What a change is called, and by whom.
struct Note {
  CivilTime now;
  std::string_view actor;
  std::string_view reason;
  std::string detail;
};

Result<Operation> load_row(JournalConnection& connection, std::string_view operation_key);
Result<std::optional<Operation>> find_row(JournalConnection& connection, std::string_view tenant,
                                          std::string_view action_type, std::string_view intent_id);
// What a change has to know of the row before it. In the same transaction, so nobody can come
// between.
struct Standing {
  Status status = Status::pending;
  std::int64_t attempt_count = 0;
  std::string external_id;
};
Result<Standing> load_standing(JournalConnection& connection, std::string_view operation_key);

// The event of a change: `changed` is the row after it, `from` its status before.
Result<void> note_change(JournalConnection& connection, const OperationRow& changed, Status from,
                         const Note& note);

// As Journal::register_operation; with a lease in `row`, as register_and_claim. `row` has the
// registered form. Returns what is known already, if anything: then nothing was written.
Result<std::optional<Operation>> insert_or_read(JournalConnection& connection, const NewRow& row,
                                                std::string_view actor);
// What the caller of insert_or_read tells its own.
Registered registered_as(NewRow row, std::optional<Operation> known);
// Registers them beside their parent; one that cannot be is noted there, and `parent` is as it is
// after.
Result<void> insert_follow_ups(JournalConnection& connection, OperationRow& parent,
                               const std::vector<Operation>& follow_ups, CivilTime now,
                               std::string_view actor);

}  // namespace onceproof
