// The journal's tables, their migrations, and what a healthy file looks like.
// Invariant: PRAGMA user_version counts the migrations that were run; each ran whole or not at all.
// A file of a newer version, or of another program (PRAGMA application_id), is never touched.
#pragma once

#include <filesystem>

#include "base/error.h"
#include "base/sqlite.h"

namespace onceproof {

inline constexpr int kSchemaVersion = 1;

// Creates or migrates. Safe when several processes open a new file at once.
// Errors: unsupported (newer schema, or not a journal), journal_corrupt, journal_unavailable.
Result<void> migrate(Database& database, const std::filesystem::path& path);

// SQLite's own check, and with `full` the journal's too: each operation ends where its last event
// says, with no event missing. Errors: journal_corrupt, with the first thing found.
Result<void> check_integrity(Database& database, const std::filesystem::path& path, bool full);

}  // namespace onceproof
