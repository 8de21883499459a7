#include "reference/sqlite_rows.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"

namespace onceproof {
namespace {

#define OPERATION_COLUMNS                                                                       \
  "operation_key, tenant, intent_id, action_type, request_hash, hash_version, field_digests,"   \
  " status, attempt_count, first_attempt_at, last_attempt_at, lease_owner, lease_until,"        \
  " external_id, result_json, error_code, check_count, unknown_since, next_check_at,"           \
  " review_since, resolved_by, created_at, updated_at, event_count, sealed_params, parent_key," \
  " attempt_until"
#define SELECT_OPERATIONS "SELECT " OPERATION_COLUMNS " FROM agent_operations "
// Every change of a row counts its event and returns the row as it is then.
#define UPDATE_OPERATION "UPDATE agent_operations SET event_count = event_count + 1, "
#define RETURNING_OPERATION " RETURNING " OPERATION_COLUMNS
// The fence: nobody moved the operation on, and it is still open.
#define LAST_ATTEMPT_OPEN                            \
  " WHERE operation_key = ?1 AND attempt_count = ?2" \
  " AND status IN ('in_progress', 'unknown') AND review_since IS NULL"

// ?1 operation_key, ?2 attempt, ?3 now; what else there is comes after.
constexpr std::string_view text_of(Sql sql) {
  switch (sql) {
    case Sql::load:
      return SELECT_OPERATIONS "WHERE operation_key = ?1";
    case Sql::load_standing:
      return "SELECT status, attempt_count, external_id FROM agent_operations"
             " WHERE operation_key = ?1";
    case Sql::find:
      return SELECT_OPERATIONS "WHERE tenant = ?1 AND action_type = ?2 AND intent_id = ?3";
    case Sql::list:
      return SELECT_OPERATIONS "WHERE operation_key > ?2 ORDER BY operation_key LIMIT ?1";
    case Sql::list_status:
      return SELECT_OPERATIONS
          "WHERE operation_key > ?2 AND status = ?3 ORDER BY operation_key LIMIT ?1";
    case Sql::list_review:
      return SELECT_OPERATIONS
          "WHERE operation_key > ?2 AND review_since IS NOT NULL AND status = coalesce(?3, status)"
          " ORDER BY operation_key LIMIT ?1";
    case Sql::children:
      return SELECT_OPERATIONS "WHERE parent_key = ?1 ORDER BY operation_key";
    case Sql::events:
      return "SELECT operation_key, seq, at, actor, from_status, to_status, reason, detail"
             " FROM operation_events WHERE operation_key = ?1 ORDER BY seq";
    case Sql::insert:
      return "INSERT INTO agent_operations (operation_key, tenant, intent_id, action_type,"
             " request_hash, hash_version, field_digests, status, attempt_count, first_attempt_at,"
             " last_attempt_at, lease_owner, lease_until, due_at, event_count, created_at,"
             " updated_at, sealed_params, parent_key, attempt_until)"
             " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,"
             " ?18, ?19, ?13)"
             " ON CONFLICT DO NOTHING";
    case Sql::insert_event:
      return "INSERT INTO operation_events VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    case Sql::claim:  // ?4 owner, ?5 lease_until. The guide's UPDATE, step 4, with a fence
      return UPDATE_OPERATION
          "status = 'in_progress', attempt_count = attempt_count + 1,"
          " first_attempt_at = coalesce(first_attempt_at, ?3), last_attempt_at = ?3,"
          " lease_owner = ?4, lease_until = ?5, attempt_until = ?5, next_check_at = NULL, due_at = "
          "?5 + 1,"
          " updated_at = ?3"
          " WHERE operation_key = ?1 AND attempt_count = ?2 AND review_since IS NULL"
          " AND (status IN ('pending', 'unknown')"
          "      OR (status = 'in_progress' AND lease_until < ?3))" RETURNING_OPERATION;
    case Sql::mark_succeeded:  // ?4 external_id, ?5 result_json; no fence: a fact is a fact
      return UPDATE_OPERATION
          "status = 'succeeded', external_id = ?4, result_json = ?5, error_code = NULL,"
          " lease_owner = NULL, lease_until = NULL, check_count = 0, unknown_since = NULL,"
          " next_check_at = NULL, review_since = NULL, due_at = NULL, sealed_params = NULL,"
          " updated_at = ?3 WHERE operation_key = ?1"
          " AND status NOT IN ('succeeded', 'failed_final')" RETURNING_OPERATION;
    case Sql::note_event:
      return "UPDATE agent_operations SET event_count = event_count + 1"
             " WHERE operation_key = ?1" RETURNING_OPERATION;
    case Sql::mark_failed_final:  // ?4 error_code, ?5 result_json
      return UPDATE_OPERATION
          "status = 'failed_final', error_code = ?4, result_json = ?5, lease_owner = NULL,"
          " lease_until = NULL, check_count = 0, unknown_since = NULL, next_check_at = NULL,"
          " due_at = NULL, sealed_params = NULL, updated_at = ?3" LAST_ATTEMPT_OPEN
          " AND status = 'in_progress'" RETURNING_OPERATION;
    case Sql::mark_unknown:  // ?4 error_code, ?5 next_check_at
      return UPDATE_OPERATION
          "status = 'unknown', check_count = check_count + (status = 'unknown'),"
          " unknown_since = coalesce(unknown_since, ?3), error_code = ?4, lease_owner = NULL,"
          " lease_until = NULL, next_check_at = ?5, due_at = ?5, updated_at = ?3" LAST_ATTEMPT_OPEN
              RETURNING_OPERATION;
    case Sql::release_for_retry:  // ?4 not_before
      return UPDATE_OPERATION
          "status = 'pending', lease_owner = NULL, lease_until = NULL, check_count = 0,"
          " unknown_since = NULL, next_check_at = ?4,"
          " due_at = iif(sealed_params IS NULL, NULL, coalesce(?4, ?3)), updated_at = "
          "?3" LAST_ATTEMPT_OPEN RETURNING_OPERATION;
    case Sql::escalate:
      return UPDATE_OPERATION
          "status = 'unknown', unknown_since = coalesce(unknown_since, ?3), lease_owner = NULL,"
          " lease_until = NULL, next_check_at = NULL, due_at = NULL, review_since = ?3,"
          " updated_at = ?3" LAST_ATTEMPT_OPEN RETURNING_OPERATION;
    case Sql::resolve:  // ?1 operation_key, ?2 status, ?3 now, ?4 by, ?5 external_id, ?6 error_code
      return UPDATE_OPERATION
          "status = ?2, resolved_by = ?4, external_id = ?5, error_code = ?6, check_count = 0,"
          " unknown_since = NULL, next_check_at = NULL, review_since = NULL,"
          " due_at = iif(?2 = 'pending' AND sealed_params IS NOT NULL, ?3, NULL),"
          " sealed_params = iif(?2 = 'pending', sealed_params, NULL), updated_at = ?3"
          " WHERE operation_key = ?1 AND status = 'unknown'"
          " AND review_since IS NOT NULL" RETURNING_OPERATION;
    case Sql::due_keys:  // ?1 now, ?2 limit
      return "SELECT operation_key FROM agent_operations WHERE due_at <= ?1"
             " ORDER BY due_at, operation_key LIMIT ?2";
    case Sql::hold:  // ?2 until. No change of state, so no event
      return "UPDATE agent_operations SET due_at = ?2 WHERE operation_key = ?1" RETURNING_OPERATION;
    case Sql::purge:  // ?1 action_type, ?2 ended_before, ?3 limit
      return "DELETE FROM agent_operations WHERE rowid IN"
             " (SELECT o.rowid FROM agent_operations o LEFT JOIN agent_operations parent"
             "  ON parent.operation_key = o.parent_key"
             "  WHERE o.status IN ('succeeded', 'failed_final') AND o.action_type = ?1"
             "  AND o.updated_at < ?2"
             "  AND coalesce(parent.status, 'succeeded') IN ('succeeded', 'failed_final')"
             "  LIMIT ?3) RETURNING operation_key";
    case Sql::purge_events:
      return "DELETE FROM operation_events WHERE operation_key = ?1";
    case Sql::count:
      break;
  }
  return {};
}

template <typename Row>
std::optional<CivilTime> time_at(const Row& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return CivilTime{Milliseconds{row.integer(column)}};
}

template <typename Row>
std::string text_at(const Row& row, int column) {
  return std::string(row.text_view(column));  // NULL: ""
}

tl::unexpected<Error> not_ours(std::string_view operation_key, std::string_view what) {
  return fail(ErrorCode::journal_corrupt,
              fmt::format("operation '{}': {} that no journal writes",
                          escape_terminal(shorten(operation_key, 200)), what));
}

// Reads {"amount_minor":"0123456789abcdef",...} without escapes, as nearly every row has it:
// reading it as any JSON was a sixth of a replay. False: it is not so plain.
bool read_plain_digests(std::string_view text, std::map<std::string, std::string>& digests) {
  const auto take = [&](std::string_view expected) {
    if (!text.starts_with(expected)) return false;
    text.remove_prefix(expected.size());
    return true;
  };
  const auto take_until_quote = [&] {
    const auto part = text.substr(0, text.find('"'));
    text.remove_prefix(part.size());
    return part;
  };
  if (text.find('\\') != std::string_view::npos || !take("{")) return false;
  if (take("}")) return text.empty();
  do {
    if (!take("\"")) return false;
    const auto name = take_until_quote();
    if (!take("\":\"")) return false;
    digests.emplace_hint(digests.end(), name, take_until_quote());
    if (!take("\"")) return false;
  } while (take(","));
  return text == "}";
}

bool read_digests(std::string_view text, std::map<std::string, std::string>& digests) {
  if (read_plain_digests(text, digests)) return true;
  digests.clear();
  const auto json = parse_json(text);
  if (!json || !json->is_object()) return false;
  for (const auto& [name, digest] : json->items()) {
    if (!digest.is_string()) return false;
    digests.emplace_hint(digests.end(), name, digest.get_ref<const std::string&>());
  }
  return true;
}

// Of a Statement at a row, or of an OperationRow.
template <typename Row>
Result<Operation> read_columns(const Row& row) {
  Operation operation;
  operation.operation_key = text_at(row, 0);
  operation.tenant = text_at(row, 1);
  operation.intent_id = text_at(row, 2);
  operation.action_type = text_at(row, 3);
  operation.request_hash = text_at(row, 4);
  operation.hash_version = static_cast<int>(row.integer(5));
  if (!read_digests(row.text_view(6), operation.field_digests))
    return not_ours(row.text_view(0), "field_digests");
  const auto status = parse_status(row.text_view(7));
  if (!status) return not_ours(row.text_view(0), "a status");
  operation.status = *status;
  operation.attempt_count = row.integer(8);
  operation.first_attempt_at = time_at(row, 9);
  operation.last_attempt_at = time_at(row, 10);
  operation.lease_owner = text_at(row, 11);
  operation.lease_until = time_at(row, 12);
  operation.external_id = text_at(row, 13);
  if (!row.is_null(14)) {
    operation.result = parse_own_json(row.text_view(14));
    if (operation.result.is_discarded()) return not_ours(row.text_view(0), "a result_json");
  }
  operation.error_code = text_at(row, 15);
  operation.check_count = row.integer(16);
  operation.unknown_since = time_at(row, 17);
  operation.next_check_at = time_at(row, 18);
  operation.review_since = time_at(row, 19);
  operation.resolved_by = text_at(row, 20);
  operation.created_at = CivilTime{Milliseconds{row.integer(21)}};
  operation.updated_at = CivilTime{Milliseconds{row.integer(22)}};
  operation.event_count = row.integer(23);
  operation.sealed_params = text_at(row, 24);
  operation.parent_key = text_at(row, 25);
  operation.attempt_until = time_at(row, 26);
  return operation;
}

}  // namespace

Result<JournalConnection::Use> JournalConnection::use(Sql sql) {
  auto& statement = statements_[static_cast<std::size_t>(sql)];
  if (!statement) {
    auto prepared = database_.prepare(text_of(sql));
    if (!prepared) return tl::unexpected(prepared.error());
    statement = std::move(*prepared);
  }
  return Use(*statement);
}

std::int64_t to_column(CivilTime time) {
  return time.time_since_epoch().count();
}

std::optional<std::int64_t> to_column(const std::optional<CivilTime>& time) {
  if (!time) return std::nullopt;
  return to_column(*time);
}

std::optional<std::string> text_or_null(std::string_view text) {
  if (text.empty()) return std::nullopt;
  return std::string(text);
}

std::optional<std::string> json_or_null(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return to_line(json);
}

Result<Operation> read_operation(const Statement& row) {
  return read_columns(row);
}

Result<Operation> read_operation(const OperationRow& row) {
  return read_columns(row);
}

void OperationRow::copy(const Statement& row) {
  texts_.clear();
  for (int column = 0; column < kColumns; ++column) {
    Cell& cell = cells_[static_cast<std::size_t>(column)];
    cell = {row.integer(column), 0, row.is_null(column)};
    if (!row.is_text(column)) continue;
    const auto text = row.text_view(column);
    cell.value = static_cast<std::int64_t>(texts_.size());
    cell.size = text.size();
    texts_ += text;
  }
}

Result<Event> read_event(const Statement& row) {
  Event event;
  event.operation_key = row.text(0);
  event.seq = row.integer(1);
  event.at = CivilTime{Milliseconds{row.integer(2)}};
  event.actor = row.text(3);
  if (!row.is_null(4)) {
    event.from_status = parse_status(row.text(4));
    if (!event.from_status) return not_ours(row.text_view(0), "an event's status");
  }
  const auto to = parse_status(row.text(5));
  if (!to) return not_ours(row.text_view(0), "an event's status");
  event.to_status = *to;
  event.reason = row.text(6);
  event.detail = row.text(7);
  return event;
}

Result<std::optional<Operation>> read_one(Statement& statement) {
  const auto row = statement.step();
  if (!row) return tl::unexpected(row.error());
  if (!*row) return std::nullopt;
  return read_operation(statement).map(
      [](Operation&& operation) { return std::optional(std::move(operation)); });
}

Result<bool> copy_one(Statement& statement, OperationRow& row) {
  const auto found = statement.step();
  if (found && *found) row.copy(statement);
  return found;
}

Result<std::vector<Operation>> read_all(Statement& statement) {
  std::vector<Operation> operations;
  while (true) {
    auto operation = read_one(statement);
    if (!operation) return tl::unexpected(operation.error());
    if (!*operation) return operations;
    operations.push_back(std::move(**operation));
  }
}

NewRow::NewRow(Operation o)
    : operation(std::move(o)), field_digests(to_line(Json(operation.field_digests))) {
  if (operation.lease_until) {
    due_at = *operation.lease_until + Milliseconds{1};
  } else if (!operation.sealed_params.empty()) {
    due_at = operation.created_at;
  }
}

void bind_new(Statement& statement, const NewRow& row) {
  const Operation& operation = row.operation;
  statement.bind(1, operation.operation_key)
      .bind(2, operation.tenant)
      .bind(3, operation.intent_id)
      .bind(4, operation.action_type)
      .bind(5, operation.request_hash)
      .bind(6, operation.hash_version)
      .bind(7, row.field_digests)
      .bind(8, to_text(operation.status))
      .bind(9, operation.attempt_count)
      .bind(10, to_column(operation.first_attempt_at))
      .bind(11, to_column(operation.last_attempt_at))
      .bind(12, text_or_null(operation.lease_owner))
      .bind(13, to_column(operation.lease_until))
      .bind(14, to_column(row.due_at))
      .bind(15, operation.event_count)
      .bind(16, to_column(operation.created_at))
      .bind(17, to_column(operation.updated_at))
      .bind(18, text_or_null(operation.sealed_params))
      .bind(19, text_or_null(operation.parent_key));
}

void bind_event(Statement& statement, const Event& event) {
  std::optional<std::string_view> from;
  if (event.from_status) from = to_text(*event.from_status);
  statement.bind(1, event.operation_key)
      .bind(2, event.seq)
      .bind(3, to_column(event.at))
      .bind(4, event.actor)
      .bind(5, from)
      .bind(6, to_text(event.to_status))
      .bind(7, event.reason)
      .bind(8, event.detail);
}

}  // namespace onceproof
