#include "reference/sqlite_journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "reference/group_writer.h"
#include "reference/journal_rules.h"
#include "reference/sqlite_operations.h"
#include "reference/sqlite_readers.h"
#include "reference/sqlite_rows.h"
#include "reference/sqlite_schema.h"

namespace onceproof {
namespace {

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

// The operation as a write left it. Read only now: what the row says costs the writer's other
// callers nothing. It is written already, so a row that cannot be read is no definite failure.
Result<Operation> after(const OperationRow& row, const Result<void>& written) {
  if (!written) return tl::unexpected(written.error());
  return read_operation(row).map_error([](Error error) {
    return Error{ErrorCode::journal_unavailable,
                 fmt::format("written, but not readable: {}", error.message)};
  });
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
    OperationRow row;
    return after(row, writer.write([&]() -> Result<void> {
      const auto prior = load_standing(connection, change.operation_key);
      if (!prior) return tl::unexpected(prior.error());
      auto query = connection.use(change.sql);
      if (!query) return tl::unexpected(query.error());
      (*query)
          ->bind(1, change.operation_key)
          .bind(2, change.attempt)
          .bind(3, to_column(change.now));
      bind(**query);
      const auto changed = copy_one(**query, row);
      if (!changed) return tl::unexpected(changed.error());
      if (!*changed) {
        const auto stored = load_row(connection, change.operation_key);
        if (!stored) return tl::unexpected(stored.error());
        return write_refused(*stored, change.attempt);
      }
      const bool again = prior->status == Status::unknown && !change.again.empty();
      return note_change(
          connection, row, prior->status,
          {change.now, change.actor, again ? change.again : change.reason, change.detail});
    }));
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
  if (auto done = migrate(*database, path, options.file); !done)
    return tl::unexpected(done.error());
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

// The insert itself tells what is known already, and then writes nothing. Who expects a repeat asks
// find() first, which needs no turn at the lock.
Result<Registered> SqliteJournal::registered(const Operation& operation, std::string_view actor,
                                             std::optional<CivilTime> lease_until) {
  if (auto checked = check_registration(operation); !checked) {
    auto known = find(operation.tenant, operation.action_type, operation.intent_id);
    if (known && *known) return Registered{std::move(**known), false};
    return tl::unexpected(known ? checked.error() : known.error());
  }
  Operation form = registered_form(operation);
  if (lease_until) {
    form.status = Status::in_progress;
    form.attempt_count = 1;
    form.first_attempt_at = form.last_attempt_at = form.created_at;
    form.lease_owner = actor;
    form.lease_until = form.attempt_until = lease_until;
    form.event_count = 2;
  }
  NewRow row(std::move(form));
  auto known = parts_->writer.write([&] { return insert_or_read(parts_->connection, row, actor); });
  if (!known) return tl::unexpected(known.error());
  return registered_as(std::move(row), std::move(*known));
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
  OperationRow row;
  auto status = parts_->writer.write([&]() -> Result<Status> {
    const auto prior = load_standing(connection, request.operation_key);
    if (!prior) return tl::unexpected(prior.error());
    auto query = connection.use(Sql::claim);
    if (!query) return tl::unexpected(query.error());
    (*query)
        ->bind(1, request.operation_key)
        .bind(2, request.expected_attempt)
        .bind(3, to_column(request.now))
        .bind(4, request.owner)
        .bind(5, to_column(request.lease_until));
    const auto changed = copy_one(**query, row);
    if (!changed) return tl::unexpected(changed.error());
    if (!*changed) {
      return load_row(connection, request.operation_key).and_then([&](const Operation& stored) {
        return Result<Status>(claim_refused(stored, request));
      });
    }
    return note_change(connection, row, prior->status,
                       {request.now, request.owner, "claimed",
                        claimed_detail(request.expected_attempt + 1)})
        .map([&] { return prior->status; });
  });
  return after(row, status.map([](Status) {})).map([&](Operation&& operation) {
    return Claim{*status, std::move(operation)};
  });
}

Result<Journal::SuccessRecorded> SqliteJournal::mark_succeeded(std::string_view operation_key,
                                                               std::int64_t attempt,
                                                               const Success& success,
                                                               CivilTime now,
                                                               std::string_view actor) {
  const std::string& external_id = success.external_id;
  if (external_id.empty()) return no_external_id(operation_key);
  auto& connection = parts_->connection;
  const auto result_json = json_or_null(success.result);
  OperationRow row;
  bool duplicate = false;
  auto written = parts_->writer.write([&]() -> Result<void> {
    duplicate = false;
    const auto prior = load_standing(connection, operation_key);
    if (!prior) return tl::unexpected(prior.error());
    const bool ended = is_terminal(prior->status);
    if (ended && prior->external_id == external_id) {
      auto query = connection.use(Sql::load);
      if (!query) return tl::unexpected(query.error());
      return copy_one((*query)->bind(1, operation_key), row).map([](bool) {});
    }
    auto query = connection.use(ended ? Sql::note_event : Sql::mark_succeeded);
    if (!query) return tl::unexpected(query.error());
    (*query)->bind(1, operation_key);
    if (!ended) {
      (*query)->bind(3, to_column(now)).bind(4, external_id).bind(5, result_json);
    }
    const auto changed = copy_one(**query, row);
    if (!changed) return tl::unexpected(changed.error());
    CHECK(*changed);  // it was read in this transaction
    duplicate = ended;
    auto noted = note_change(connection, row, prior->status,
                             {now, actor, ended ? "duplicate_effect" : "confirmed",
                              confirmed_detail(attempt, prior->attempt_count, external_id)});
    if (!noted || ended) return noted;
    return insert_follow_ups(connection, row, success.follow_ups, now, actor);
  });
  return after(row, written).map([&](Operation&& operation) {
    return SuccessRecorded{std::move(operation), duplicate};
  });
}

Result<Operation> SqliteJournal::mark_failed_final(std::string_view operation_key,
                                                   std::int64_t attempt, const Failure& failure,
                                                   CivilTime now, std::string_view actor) {
  return parts_->change(
      {Sql::mark_failed_final,
       operation_key,
       attempt,
       now,
       actor,
       "rejected",
       {},
       failure.error_code},
      [&](Statement& statement) {
        statement.bind(4, text_or_null(failure.error_code)).bind(5, json_or_null(failure.result));
      });
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

Result<Operation> SqliteJournal::resolve(std::string_view operation_key,
                                         const Resolution& resolution,
                                         const std::vector<Operation>& follow_ups, CivilTime now) {
  if (auto checked = check_resolution(resolution); !checked) {
    return tl::unexpected(checked.error());
  }
  auto& connection = parts_->connection;
  const auto status = resolved_status(resolution);
  const bool succeeded = status == Status::succeeded;
  OperationRow row;
  return after(row, parts_->writer.write([&]() -> Result<void> {
    const auto stored = load_row(connection, operation_key);
    if (!stored) return tl::unexpected(stored.error());
    if (!stored->review_since || stored->event_count != resolution.seen) {
      return resolve_refused(*stored, resolution);
    }
    auto query = connection.use(Sql::resolve);
    if (!query) return tl::unexpected(query.error());
    (*query)
        ->bind(1, operation_key)
        .bind(2, to_text(status))
        .bind(3, to_column(now))
        .bind(4, resolution.by)
        .bind(5, text_or_null(resolution.external_id))
        .bind(6, text_or_null(succeeded                        ? ""
                              : status == Status::failed_final ? kResolvedFailed
                                                               : stored->error_code));
    const auto changed = copy_one(**query, row);
    if (!changed) return tl::unexpected(changed.error());
    CHECK(*changed);  // it was read in this transaction
    auto noted = note_change(connection, row, stored->status,
                             {now, resolution.by, "resolved", resolved_detail(resolution)});
    if (!noted || !succeeded) return noted;
    return insert_follow_ups(connection, row, follow_ups, now, resolution.by);
  }));
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

Result<std::vector<Operation>> SqliteJournal::list(const ListFilter& filter) {
  return parts_->readers.read([&](JournalConnection& connection) -> Result<std::vector<Operation>> {
    auto query = connection.use(filter.in_review ? Sql::list_review
                                : filter.status  ? Sql::list_status
                                                 : Sql::list);
    if (!query) return tl::unexpected(query.error());
    (*query)->bind(1, row_limit(filter.limit)).bind(2, filter.after_key);
    if (filter.status) (*query)->bind(3, to_text(*filter.status));
    return read_all(**query);
  });
}

Result<std::vector<Operation>> SqliteJournal::children(std::string_view parent_key) {
  return parts_->readers.read([&](JournalConnection& connection) -> Result<std::vector<Operation>> {
    auto query = connection.use(Sql::children);
    if (!query) return tl::unexpected(query.error());
    (*query)->bind(1, parent_key);
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
