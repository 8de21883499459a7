// The journal's tables, their migrations, and what a healthy file looks like.
// Invariant: each migration ran whole or not at all, and the file says how many did: in PRAGMA
// user_version if the file is the journal's own (PRAGMA application_id), in the table
// onceproof_journal if it is the caller's. A file of a newer version is never touched, nor one of
// another program unless its owner asked for it.
#pragma once

#include <filesystem>

#include "base/error.h"
#include "base/sqlite.h"

namespace onceproof {

inline constexpr int kSchemaVersion = 2;

enum class FileUse {
  own,       // a file of the journal alone
  shared,    // beside the caller's tables in the caller's file, so that both commit together
  existing,  // either, but a journal must be there already: for tools that look at one
};

// Creates or migrates. Safe when several processes open a new file at once.
// Errors: unsupported (newer schema, or not a journal); not_found (existing: no journal);
// journal_corrupt, journal_unavailable.
Result<void> migrate(Database& database, const std::filesystem::path& path, FileUse use);

// For who writes to the tables in a transaction of its own: are they there, and of this version?
// Errors: unsupported, journal_unavailable.
Result<void> check_shared_schema(Database& database);

// SQLite's own check, and with `full` the journal's too: each operation ends where its last event
// says, with no event missing. Errors: journal_corrupt, with the first thing found.
Result<void> check_integrity(Database& database, const std::filesystem::path& path, bool full);

}  // namespace onceproof
