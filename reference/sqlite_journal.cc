#include "reference/sqlite_journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "reference/group_writer.h"
#include "reference/journal_rules.h"
#include "reference/sqlite_readers.h"
#include "reference/sqlite_rows.h"
#include "reference/sqlite_schema.h"

namespace onceproof {
namespace {

using Row = std::optional<Operation>;

// The column behind OPERATION_COLUMNS: the seq of the event that belongs to the change.
constexpr int kEventCount = 23;

struct Changed {
  Operation operation;
  std::int64_t event_count = 0;
};

// The row that an UPDATE ... RETURNING changed; nullopt: none.
Result<std::optional<Changed>> read_changed(Statement& statement) {
  auto row = read_one(statement);
  if (!row) return tl::unexpected(row.error());
  if (!*row) return std::nullopt;
  return Changed{std::move(**row), statement.integer(kEventCount)};
}

Result<Operation> load_row(JournalConnection& connection, std::string_view operation_key) {
  auto query = connection.use(Sql::load);
  if (!query) return tl::unexpected(query.error());
  (*query)->bind(1, operation_key);
  auto row = read_one(**query);
  if (!row) return tl::unexpected(row.error());
  if (!*row) return no_such_operation(operation_key);
  return std::move(**row);
}

Result<Row> find_row(JournalConnection& connection, std::string_view tenant,
                     std::string_view action_type, std::string_view intent_id) {
  auto query = connection.use(Sql::find);
  if (!query) return tl::unexpected(query.error());
  (*query)->bind(1, tenant).bind(2, action_type).bind(3, intent_id);
  return read_one(**query);
}

Result<void> insert_event(JournalConnection& connection, const Event& event) {
  auto query = connection.use(Sql::insert_event);
  if (!query) return tl::unexpected(query.error());
  bind_event(**query, event);
  return (*query)->step().map([](bool) {});
}

// What a change is called, and by whom.
struct Note {
  CivilTime now;
  std::string_view actor;
  std::string_view reason;
  std::string detail;
};

Result<Operation> note(JournalConnection& connection, Changed changed, Status from, Note note) {
  Event event{changed.operation.operation_key,
              changed.event_count,
              note.now,
              std::string(note.actor),
              from,
              changed.operation.status,
              std::string(note.reason),
              std::move(note.detail)};
  if (auto done = insert_event(connection, event); !done) return tl::unexpected(done.error());
  return std::move(changed.operation);
}

// The status before a change. In the same transaction, so nobody can come between.
Result<Status> load_status(JournalConnection& connection, std::string_view operation_key) {
  auto query = connection.use(Sql::load_status);
  if (!query) return tl::unexpected(query.error());
  const auto row = (*query)->bind(1, operation_key).step();
  if (!row) return tl::unexpected(row.error());
  if (!*row) return no_such_operation(operation_key);
  const auto status = parse_status((*query)->text(0));
  if (!status) {
    return fail(ErrorCode::journal_corrupt, "an operation has a status that no journal writes");
  }
  return *status;
}

// Inserts, unless the intent or the key is known: then false.
Result<bool> insert_row(JournalConnection& connection, const Operation& row,
                        std::string_view actor) {
  const bool claimed = row.lease_until.has_value();
  auto query = connection.use(Sql::insert);
  if (!query) return tl::unexpected(query.error());
  const auto due_at = claimed ? std::optional(*row.lease_until + Milliseconds{1}) : std::nullopt;
  bind_new(**query, row, due_at, claimed ? 2 : 1);
  if (auto done = (*query)->step(); !done) return done;
  if (connection.database().changes() == 0) return false;
  Event event{
      row.operation_key, 1, row.created_at, std::string(actor), std::nullopt, Status::pending,
      "registered",      ""};
  if (auto done = insert_event(connection, event); !done) return tl::unexpected(done.error());
  if (!claimed) return true;
  event.seq = 2;
  event.from_status = Status::pending;
  event.to_status = Status::in_progress;
  event.reason = "claimed";
  event.detail = claimed_detail(1);
  return insert_event(connection, event).map([] { return true; });
}

Result<Registered> insert_or_read(JournalConnection& connection, const Operation& row,
                                  std::string_view actor) {
  const auto inserted = insert_row(connection, row, actor);
  if (!inserted) return tl::unexpected(inserted.error());
  if (*inserted) return Registered{row, true};
  auto known = find_row(connection, row.tenant, row.action_type, row.intent_id);
  if (!known) return tl::unexpected(known.error());
  if (*known) return Registered{std::move(**known), false};
  return key_of_another_intent(row);
}

// SQLite counts in signed 64 bits, and takes a negative limit for none.
std::int64_t row_limit(std::size_t limit) {
  return static_cast<std::int64_t>(std::min(limit, std::size_t{INT64_MAX}));
}

// All rows of a statement that has one column.
Result<std::vector<std::string>> read_keys(Statement& statement) {
  std::vector<std::string> keys;
  while (true) {
    const auto row = statement.step();
    if (!row) return tl::unexpected(row.error());
    if (!*row) return keys;
    keys.push_back(statement.text(0));
  }
}

Result<std::vector<std::string>> due_keys(JournalConnection& connection, CivilTime now,
                                          std::size_t limit) {
  auto query = connection.use(Sql::due_keys);
  if (!query) return tl::unexpected(query.error());
  (*query)->bind(1, to_column(now)).bind(2, row_limit(limit));
  return read_keys(**query);
}

// A fenced change of one operation: the statement's first three parameters, and what its event will
// say.
struct Change {
  Sql sql;
  std::string_view operation_key;
  std::int64_t attempt = 0;
  CivilTime now;
  std::string_view actor;
  std::string_view reason;
  std::string_view again;  // the reason if it was unknown already; empty: the same
  std::string detail;
};

}  // namespace

struct SqliteJournal::Parts {
  Parts(std::filesystem::path file, const SqliteJournalOptions& chosen, Database database)
      : path(std::move(file)),
        connection(std::move(database)),
        writer(connection.database(), {chosen.max_batch, chosen.queue_limit}),
        readers(path, chosen.durability, chosen.busy_timeout, chosen.max_readers) {}

  // `bind` gives the statement its parameters from ?4 on. Errors: not_found, stale_attempt.
  template <typename Bind>
  Result<Operation> change(Change change, Bind bind) {
    return writer.write([&]() -> Result<Operation> {
      const auto prior = load_status(connection, change.operation_key);
      if (!prior) return tl::unexpected(prior.error());
      auto query = connection.use(change.sql);
      if (!query) return tl::unexpected(query.error());
      (*query)
          ->bind(1, change.operation_key)
          .bind(2, change.attempt)
          .bind(3, to_column(change.now));
      bind(**query);
      auto changed = read_changed(**query);
      if (!changed) return tl::unexpected(changed.error());
      if (!*changed) {
        const auto stored = load_row(connection, change.operation_key);
        if (!stored) return stored;
        return write_refused(*stored, change.attempt);
      }
      const bool again = *prior == Status::unknown && !change.again.empty();
      return note(connection, std::move(**changed), *prior,
                  {change.now, change.actor, again ? change.again : change.reason, change.detail});
    });
  }

  std::filesystem::path path;
  JournalConnection connection;
  GroupWriter writer;
  SqliteReaders readers;
};

SqliteJournal::SqliteJournal(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
SqliteJournal::~SqliteJournal() = default;

Result<std::unique_ptr<SqliteJournal>> SqliteJournal::open(const std::filesystem::path& path,
                                                           SqliteJournalOptions options) {
  if (path.empty() || path.native().starts_with(':')) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is no file; a journal that is not durable is MemoryJournal",
                            path.string()));
  }
  auto database = Database::open(path, options.durability, options.busy_timeout);
  if (!database) return tl::unexpected(database.error());
  if (auto done = migrate(*database, path); !done) return tl::unexpected(done.error());
  auto parts = std::make_unique<Parts>(path, options, std::move(*database));
  std::unique_ptr<SqliteJournal> journal(new SqliteJournal(std::move(parts)));
  if (auto sound = journal->verify(options.check_at_open); !sound) {
    return tl::unexpected(sound.error());
  }
  return journal;
}

Result<void> SqliteJournal::verify(IntegrityCheck check) {
  if (check == IntegrityCheck::none) return {};
  return parts_->readers.read([&](JournalConnection& connection) {
    return check_integrity(connection.database(), parts_->path, check == IntegrityCheck::full);
  });
}

// A repeat is the common case of a finished operation, and needs no write: it is read first. The
// insert decides all the same.
Result<Registered> SqliteJournal::registered(const Operation& operation, std::string_view actor,
                                             std::optional<CivilTime> lease_until) {
  auto known = find(operation.tenant, operation.action_type, operation.intent_id);
  if (!known) return tl::unexpected(known.error());
  if (*known) return Registered{std::move(**known), false};
  if (auto checked = check_registration(operation); !checked) {
    return tl::unexpected(checked.error());
  }
  Operation row = registered_form(operation);
  if (lease_until) {
    row.status = Status::in_progress;
    row.attempt_count = 1;
    row.first_attempt_at = row.last_attempt_at = row.created_at;
    row.lease_owner = actor;
    row.lease_until = lease_until;
  }
  return parts_->writer.write([&] { return insert_or_read(parts_->connection, row, actor); });
}

Result<Registered> SqliteJournal::register_operation(const Operation& operation,
                                                     std::string_view actor) {
  return registered(operation, actor, std::nullopt);
}

Result<Registered> SqliteJournal::register_and_claim(const Operation& operation,
                                                     std::string_view owner,
                                                     CivilTime lease_until) {
  return registered(operation, owner, lease_until);
}

Result<Claim> SqliteJournal::claim(const ClaimRequest& request) {
  auto& connection = parts_->connection;
  return parts_->writer.write([&]() -> Result<Claim> {
    const auto prior = load_status(connection, request.operation_key);
    if (!prior) return tl::unexpected(prior.error());
    auto query = connection.use(Sql::claim);
    if (!query) return tl::unexpected(query.error());
    (*query)
        ->bind(1, request.operation_key)
        .bind(2, request.expected_attempt)
        .bind(3, to_column(request.now))
        .bind(4, request.owner)
        .bind(5, to_column(request.lease_until));
    auto changed = read_changed(**query);
    if (!changed) return tl::unexpected(changed.error());
    if (!*changed) {
      return load_row(connection, request.operation_key).and_then([&](const Operation& stored) {
        return Result<Claim>(claim_refused(stored, request));
      });
    }
    const auto detail = claimed_detail((*changed)->operation.attempt_count);
    return note(connection, std::move(**changed), *prior,
                {request.now, request.owner, "claimed", detail})
        .map([&](Operation&& operation) {
          return Claim{*prior, std::move(operation)};
        });
  });
}

Result<Journal::SuccessRecorded> SqliteJournal::mark_succeeded(std::string_view operation_key,
                                                               std::int64_t attempt,
                                                               std::string_view external_id,
                                                               const Json& result, CivilTime now,
                                                               std::string_view actor) {
  if (external_id.empty()) return no_external_id(operation_key);
  auto& connection = parts_->connection;
  const auto result_json = result.is_null() ? std::nullopt : std::optional(to_line(result));
  return parts_->writer.write([&]() -> Result<SuccessRecorded> {
    const auto stored = load_row(connection, operation_key);
    if (!stored) return tl::unexpected(stored.error());
    const bool ended = is_terminal(stored->status);
    if (ended && stored->external_id == external_id) return SuccessRecorded{*stored, false};
    auto query = connection.use(ended ? Sql::note_event : Sql::mark_succeeded);
    if (!query) return tl::unexpected(query.error());
    (*query)->bind(1, operation_key);
    if (!ended) {
      (*query)->bind(3, to_column(now)).bind(4, external_id).bind(5, result_json);
    }
    auto changed = read_changed(**query);
    if (!changed) return tl::unexpected(changed.error());
    CHECK(changed->has_value());  // it was read in this transaction
    return note(connection, std::move(**changed), stored->status,
                {now, actor, ended ? "duplicate_effect" : "confirmed",
                 confirmed_detail(attempt, *stored, external_id)})
        .map([&](Operation&& operation) {
          return SuccessRecorded{std::move(operation), ended};
        });
  });
}

Result<Operation> SqliteJournal::mark_failed_final(std::string_view operation_key,
                                                   std::int64_t attempt,
                                                   std::string_view error_code, CivilTime now,
                                                   std::string_view actor) {
  return parts_->change({Sql::mark_failed_final,
                         operation_key,
                         attempt,
                         now,
                         actor,
                         "rejected",
                         {},
                         std::string(error_code)},
                        [&](Statement& statement) { statement.bind(4, text_or_null(error_code)); });
}

Result<Operation> SqliteJournal::mark_unknown(std::string_view operation_key, std::int64_t attempt,
                                              std::string_view error_code, CivilTime next_check_at,
                                              CivilTime now, std::string_view actor) {
  return parts_->change(
      {Sql::mark_unknown, operation_key, attempt, now, actor, "ambiguous", "still_unknown",
       std::string(error_code)},
      [&](Statement& statement) {
        statement.bind(4, text_or_null(error_code)).bind(5, to_column(next_check_at));
      });
}

Result<Operation> SqliteJournal::release_for_retry(std::string_view operation_key,
                                                   std::int64_t attempt, std::string_view reason,
                                                   std::optional<CivilTime> not_before,
                                                   CivilTime now, std::string_view actor) {
  return parts_->change({Sql::release_for_retry,
                         operation_key,
                         attempt,
                         now,
                         actor,
                         reason,
                         {},
                         claimed_detail(attempt)},
                        [&](Statement& statement) { statement.bind(4, to_column(not_before)); });
}

Result<Operation> SqliteJournal::escalate(std::string_view operation_key, std::int64_t attempt,
                                          std::string_view reason, CivilTime now,
                                          std::string_view actor) {
  return parts_->change(
      {Sql::escalate, operation_key, attempt, now, actor, "escalated", {}, std::string(reason)},
      [](Statement&) {});
}

Result<Operation> SqliteJournal::load(std::string_view operation_key) {
  return parts_->readers.read(
      [&](JournalConnection& connection) { return load_row(connection, operation_key); });
}

Result<std::optional<Operation>> SqliteJournal::find(std::string_view tenant,
                                                     std::string_view action_type,
                                                     std::string_view intent_id) {
  return parts_->readers.read([&](JournalConnection& connection) {
    return find_row(connection, tenant, action_type, intent_id);
  });
}

Result<std::vector<Operation>> SqliteJournal::take_due(CivilTime now, Milliseconds hold,
                                                       std::size_t limit) {
  // Mostly nothing is due: that needs no write. What is due is read again where nobody can come
  // between.
  const auto waiting = parts_->readers.read(
      [&](JournalConnection& connection) { return due_keys(connection, now, limit); });
  if (!waiting) return tl::unexpected(waiting.error());
  if (waiting->empty()) return std::vector<Operation>{};
  auto& connection = parts_->connection;
  return parts_->writer.write([&]() -> Result<std::vector<Operation>> {
    const auto keys = due_keys(connection, now, limit);
    if (!keys) return tl::unexpected(keys.error());
    std::vector<Operation> taken;
    for (const auto& key : *keys) {
      auto query = connection.use(Sql::hold);
      if (!query) return tl::unexpected(query.error());
      (*query)->bind(1, key).bind(2, to_column(now + hold));
      auto row = read_one(**query);
      if (!row) return tl::unexpected(row.error());
      if (*row) taken.push_back(std::move(**row));
    }
    return taken;
  });
}

Result<std::vector<Operation>> SqliteJournal::list(std::optional<Status> status,
                                                   std::size_t limit) {
  return parts_->readers.read([&](JournalConnection& connection) -> Result<std::vector<Operation>> {
    auto query = connection.use(status ? Sql::list_status : Sql::list);
    if (!query) return tl::unexpected(query.error());
    (*query)->bind(1, row_limit(limit));
    if (status) (*query)->bind(2, to_text(*status));
    return read_all(**query);
  });
}

Result<std::vector<Event>> SqliteJournal::events(std::string_view operation_key) {
  return parts_->readers.read([&](JournalConnection& connection) -> Result<std::vector<Event>> {
    auto query = connection.use(Sql::events);
    if (!query) return tl::unexpected(query.error());
    (*query)->bind(1, operation_key);
    std::vector<Event> events;
    while (true) {
      const auto row = (*query)->step();
      if (!row) return tl::unexpected(row.error());
      if (!*row) return events;
      auto event = read_event(**query);
      if (!event) return tl::unexpected(event.error());
      events.push_back(std::move(*event));
    }
  });
}

Result<std::size_t> SqliteJournal::purge_terminal(std::string_view action_type,
                                                  CivilTime ended_before, std::size_t limit) {
  auto& connection = parts_->connection;
  return parts_->writer.write([&]() -> Result<std::size_t> {
    auto query = connection.use(Sql::purge);
    if (!query) return tl::unexpected(query.error());
    (*query)->bind(1, action_type).bind(2, to_column(ended_before)).bind(3, row_limit(limit));
    const auto keys = read_keys(**query);
    if (!keys) return tl::unexpected(keys.error());
    for (const auto& key : *keys) {
      auto events = connection.use(Sql::purge_events);
      if (!events) return tl::unexpected(events.error());
      if (auto done = (*events)->bind(1, key).step(); !done) return tl::unexpected(done.error());
    }
    return keys->size();
  });
}

}  // namespace onceproof
