#include "reference/sqlite_schema.h"

#include <fmt/format.h>

#include <array>

namespace onceproof {
namespace {

constexpr std::int64_t kApplicationId = 0x4f6e6365;  // "Once"

// Never change a migration that was released: add the next one.
constexpr std::array<const char*, kSchemaVersion> kMigrations{R"sql(
-- Times are milliseconds since 1970-01-01 UTC, from the caller's clock. Texts that are not there are NULL.
CREATE TABLE agent_operations (
  operation_key    TEXT    NOT NULL PRIMARY KEY CHECK (length(operation_key) BETWEEN 1 AND 200),
  tenant           TEXT    NOT NULL,
  intent_id        TEXT    NOT NULL,
  action_type      TEXT    NOT NULL,
  request_hash     TEXT    NOT NULL CHECK (length(request_hash) = 64),
  hash_version     INTEGER NOT NULL,
  field_digests    TEXT    NOT NULL,
  status           TEXT    NOT NULL CHECK (status IN
                     ('pending', 'in_progress', 'unknown', 'succeeded', 'failed_final')),
  attempt_count    INTEGER NOT NULL CHECK (attempt_count >= 0),
  first_attempt_at INTEGER,
  last_attempt_at  INTEGER,
  lease_owner      TEXT,
  lease_until      INTEGER,
  external_id      TEXT,
  result_json      TEXT,
  error_code       TEXT,
  check_count      INTEGER NOT NULL DEFAULT 0,
  unknown_since    INTEGER,
  next_check_at    INTEGER,
  review_since     INTEGER,
  resolved_by      TEXT,
  due_at           INTEGER,            -- when a reconciler may take it; NULL: nothing to do by itself
  event_count      INTEGER NOT NULL,   -- seq of its last event
  created_at       INTEGER NOT NULL,
  updated_at       INTEGER NOT NULL,
  UNIQUE (tenant, action_type, intent_id),
  CHECK ((status = 'in_progress') = (lease_until IS NOT NULL)),
  CHECK (status <> 'succeeded' OR external_id IS NOT NULL),
  CHECK (status <> 'unknown' OR unknown_since IS NOT NULL),
  CHECK (review_since IS NULL OR status = 'unknown')
) STRICT;

CREATE INDEX operations_due ON agent_operations (due_at, operation_key) WHERE due_at IS NOT NULL;

CREATE TABLE operation_events (
  operation_key TEXT    NOT NULL,
  seq           INTEGER NOT NULL CHECK (seq > 0),
  at            INTEGER NOT NULL,
  actor         TEXT    NOT NULL,
  from_status   TEXT    CHECK (from_status IN
                  ('pending', 'in_progress', 'unknown', 'succeeded', 'failed_final')),
  to_status     TEXT    NOT NULL CHECK (to_status IN
                  ('pending', 'in_progress', 'unknown', 'succeeded', 'failed_final')),
  reason        TEXT    NOT NULL,
  detail        TEXT    NOT NULL,
  PRIMARY KEY (operation_key, seq)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON operation_events
BEGIN SELECT RAISE(ABORT, 'operation_events is append-only'); END;

-- Retention deletes an operation first and its events after it.
CREATE TRIGGER events_go_with_their_operation BEFORE DELETE ON operation_events
WHEN EXISTS (SELECT 1 FROM agent_operations WHERE operation_key = OLD.operation_key)
BEGIN SELECT RAISE(ABORT, 'operation_events is append-only'); END;

CREATE TRIGGER unfinished_operations_stay BEFORE DELETE ON agent_operations
WHEN OLD.status NOT IN ('succeeded', 'failed_final')
BEGIN SELECT RAISE(ABORT, 'an operation that is not terminal is never deleted'); END;

CREATE TRIGGER an_end_is_final BEFORE UPDATE OF status ON agent_operations
WHEN OLD.status IN ('succeeded', 'failed_final') AND NEW.status <> OLD.status
BEGIN SELECT RAISE(ABORT, 'a terminal status never changes'); END;

CREATE TRIGGER what_was_intended_stays BEFORE UPDATE OF
  operation_key, tenant, intent_id, action_type, request_hash, hash_version, field_digests, created_at
ON agent_operations
BEGIN SELECT RAISE(ABORT, 'the intent of an operation never changes'); END;
)sql",
                                                              R"sql(
-- Parameters for a resend without the caller: encrypted, and only while the operation is open.
ALTER TABLE agent_operations ADD COLUMN sealed_params TEXT
  CHECK (sealed_params IS NULL OR status NOT IN ('succeeded', 'failed_final'));
ALTER TABLE agent_operations ADD COLUMN parent_key TEXT;
-- The lease of the last attempt as it was given, also when it is over.
ALTER TABLE agent_operations ADD COLUMN attempt_until INTEGER;

CREATE INDEX operations_of_a_parent ON agent_operations (parent_key) WHERE parent_key IS NOT NULL;
CREATE INDEX operations_in_review ON agent_operations (operation_key) WHERE review_since IS NOT NULL;

CREATE TRIGGER what_was_sealed_stays_or_goes BEFORE UPDATE OF sealed_params, parent_key
ON agent_operations
WHEN (NEW.sealed_params IS NOT NULL AND NEW.sealed_params IS NOT OLD.sealed_params)
  OR NEW.parent_key IS NOT OLD.parent_key
BEGIN SELECT RAISE(ABORT, 'the intent of an operation never changes'); END;
)sql"};

Result<std::int64_t> read_pragma(Database& database, std::string_view pragma) {
  auto statement = database.prepare(fmt::format("PRAGMA {}", pragma));
  if (!statement) return tl::unexpected(statement.error());
  const auto row = statement->step();
  if (!row) return tl::unexpected(row.error());
  return statement->integer(0);
}

Result<bool> is_empty(Database& database) {
  auto statement = database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1");
  if (!statement) return tl::unexpected(statement.error());
  return statement->step().map([](bool row) { return !row; });
}

// How many migrations ran, and where that is written.
struct Version {
  std::int64_t number = 0;
  bool in_table = false;
};

Result<Version> table_version(Database& database) {
  auto exists = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1");
  if (!exists) return tl::unexpected(exists.error());
  const auto found = exists->bind(1, "onceproof_journal").step();
  if (!found) return tl::unexpected(found.error());
  if (!*found) return Version{0, true};
  auto number = database.prepare("SELECT version FROM onceproof_journal");
  if (!number) return tl::unexpected(number.error());
  const auto row = number->step();
  if (!row) return tl::unexpected(row.error());
  return Version{*row ? number->integer(0) : 0, true};
}

// The version of a file that we may write; 0: no journal is in it yet.
Result<Version> read_version(Database& database, const std::filesystem::path& path, FileUse use) {
  const auto application = read_pragma(database, "application_id");
  if (!application) return tl::unexpected(application.error());
  const auto number = read_pragma(database, "user_version");
  if (!number) return tl::unexpected(number.error());
  const auto empty = is_empty(database);
  if (!empty) return tl::unexpected(empty.error());
  const bool fresh = *empty && *application == 0 && *number == 0;
  const bool ours = *application == kApplicationId || (fresh && use == FileUse::own);
  if (!ours && use == FileUse::own) {
    return fail(ErrorCode::unsupported,
                fmt::format("{} is an SQLite file of another program; a journal needs a file of "
                            "its own, or FileUse::shared from who owns this one",
                            path.string()));
  }
  const auto version = ours ? Result<Version>(Version{*number, false}) : table_version(database);
  if (version && version->number == 0 && use == FileUse::existing) {
    return fail(ErrorCode::not_found, fmt::format("{} holds no journal", path.string()));
  }
  if (version && version->number > kSchemaVersion) {
    return fail(ErrorCode::unsupported,
                fmt::format("{} has schema version {}, and this program knows versions up to {}; "
                            "use a newer onceproof",
                            path.string(), version->number, kSchemaVersion));
  }
  return version;
}

std::string write_version(bool in_table) {
  if (!in_table) {
    return fmt::format("PRAGMA application_id={}; PRAGMA user_version={};", kApplicationId,
                       kSchemaVersion);
  }
  return fmt::format(
      "CREATE TABLE IF NOT EXISTS onceproof_journal (version INTEGER NOT NULL) STRICT;"
      " DELETE FROM onceproof_journal; INSERT INTO onceproof_journal VALUES ({});",
      kSchemaVersion);
}

// A query that finds what must not be; the first find is told.
Result<void> expect_none(Database& database, const std::filesystem::path& path,
                         std::string_view what, std::string_view sql) {
  auto statement = database.prepare(sql);
  if (!statement) return tl::unexpected(statement.error());
  const auto row = statement->step();
  if (!row) return tl::unexpected(row.error());
  if (!*row) return {};
  return fail(ErrorCode::journal_corrupt,
              fmt::format("{}: {}: {}", path.string(), what, statement->text(0)));
}

}  // namespace

Result<void> migrate(Database& database, const std::filesystem::path& path, FileUse use) {
  // One snapshot for all that is read: between two reads another process may lay the schema.
  if (auto begun = database.execute("BEGIN"); !begun) return begun;
  auto version = read_version(database, path, use);
  if (auto ended = database.execute("COMMIT"); !ended) return ended;
  if (!version) return tl::unexpected(version.error());
  if (version->number == kSchemaVersion) return {};
  auto transaction = Transaction::begin(database);
  if (!transaction) return tl::unexpected(transaction.error());
  version = read_version(database, path, use);  // another process may have been faster
  if (!version) return tl::unexpected(version.error());
  for (auto next = static_cast<std::size_t>(version->number); next < kMigrations.size(); ++next) {
    if (auto done = database.execute(kMigrations[next]); !done) return done;
  }
  const auto mark = write_version(version->in_table);
  if (auto done = database.execute(mark.c_str()); !done) return done;
  return transaction->commit();
}

Result<void> check_shared_schema(Database& database) {
  const auto application = read_pragma(database, "application_id");
  if (!application) return tl::unexpected(application.error());
  const auto own = [](std::int64_t number) { return Version{number, false}; };
  const auto version = *application == kApplicationId
                           ? read_pragma(database, "user_version").map(own)
                           : table_version(database);
  if (!version) return tl::unexpected(version.error());
  if (version->number == kSchemaVersion) return {};
  return fail(ErrorCode::unsupported,
              fmt::format("this file has no journal of schema version {} (found: {}); open it once "
                          "with SqliteJournal::open and FileUse::shared",
                          kSchemaVersion, version->number));
}

Result<void> check_integrity(Database& database, const std::filesystem::path& path, bool full) {
  if (!full) {
    return expect_none(database, path, "damaged",
                       "SELECT * FROM pragma_quick_check(1) WHERE quick_check <> 'ok'");
  }
  return expect_none(database, path, "damaged",
                     "SELECT * FROM pragma_integrity_check(1) WHERE integrity_check <> 'ok'")
      .and_then([&] {
        return expect_none(
            database, path, "the status is not that of the last event",
            "SELECT o.operation_key FROM agent_operations o LEFT JOIN operation_events e"
            " ON e.operation_key = o.operation_key AND e.seq = o.event_count"
            " WHERE e.to_status IS NOT o.status LIMIT 1");
      })
      .and_then([&] {
        return expect_none(database, path, "an event is missing",
                           "SELECT o.operation_key FROM agent_operations o WHERE o.event_count <>"
                           " (SELECT count(*) FROM operation_events e"
                           "  WHERE e.operation_key = o.operation_key) LIMIT 1");
      })
      .and_then([&] {
        return expect_none(database, path, "events without an operation",
                           "SELECT e.operation_key FROM operation_events e WHERE NOT EXISTS"
                           " (SELECT 1 FROM agent_operations o"
                           "  WHERE o.operation_key = e.operation_key) LIMIT 1");
      });
}

}  // namespace onceproof
