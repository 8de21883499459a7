#include "reference/sqlite_operations.h"

#include "base/check.h"
#include "reference/journal_rules.h"

namespace onceproof {
namespace {

Result<void> insert_event(JournalConnection& connection, const Event& event) {
  auto query = connection.use(Sql::insert_event);
  if (!query) return tl::unexpected(query.error());
  bind_event(**query, event);
  return (*query)->step().map([](bool) {});
}

// Inserts, unless the intent or the key is known: then false.
Result<bool> insert_row(JournalConnection& connection, const NewRow& row, std::string_view actor) {
  const Operation& operation = row.operation;
  auto query = connection.use(Sql::insert);
  if (!query) return tl::unexpected(query.error());
  bind_new(**query, row);
  if (auto done = (*query)->step(); !done) return done;
  if (connection.database().changes() == 0) return false;
  Event event{operation.operation_key,
              1,
              operation.created_at,
              std::string(actor),
              std::nullopt,
              Status::pending,
              "registered",
              ""};
  if (auto done = insert_event(connection, event); !done) return tl::unexpected(done.error());
  if (!operation.lease_until) return true;
  event.seq = 2;
  event.from_status = Status::pending;
  event.to_status = Status::in_progress;
  event.reason = "claimed";
  event.detail = claimed_detail(1);
  return insert_event(connection, event).map([] { return true; });
}

}  // namespace

Result<Operation> load_row(JournalConnection& connection, std::string_view operation_key) {
  auto query = connection.use(Sql::load);
  if (!query) return tl::unexpected(query.error());
  (*query)->bind(1, operation_key);
  auto row = read_one(**query);
  if (!row) return tl::unexpected(row.error());
  if (!*row) return no_such_operation(operation_key);
  return std::move(**row);
}

Result<std::optional<Operation>> find_row(JournalConnection& connection, std::string_view tenant,
                                          std::string_view action_type,
                                          std::string_view intent_id) {
  auto query = connection.use(Sql::find);
  if (!query) return tl::unexpected(query.error());
  (*query)->bind(1, tenant).bind(2, action_type).bind(3, intent_id);
  return read_one(**query);
}

Result<Standing> load_standing(JournalConnection& connection, std::string_view operation_key) {
  auto query = connection.use(Sql::load_standing);
  if (!query) return tl::unexpected(query.error());
  const auto row = (*query)->bind(1, operation_key).step();
  if (!row) return tl::unexpected(row.error());
  if (!*row) return no_such_operation(operation_key);
  const auto status = parse_status((*query)->text(0));
  if (!status) {
    return fail(ErrorCode::journal_corrupt, "an operation has a status that no journal writes");
  }
  return Standing{*status, (*query)->integer(1), (*query)->optional_text(2).value_or("")};
}

Result<void> note_change(JournalConnection& connection, const OperationRow& changed, Status from,
                         const Note& note) {
  const auto status = changed.status();
  CHECK(status.has_value());  // the schema has a CHECK, and this was written just now
  return insert_event(
      connection, {std::string(changed.operation_key()), changed.event_count(), note.now,
                   std::string(note.actor), from, *status, std::string(note.reason), note.detail});
}

Result<std::optional<Operation>> insert_or_read(JournalConnection& connection, const NewRow& row,
                                                std::string_view actor) {
  const auto inserted = insert_row(connection, row, actor);
  if (!inserted) return tl::unexpected(inserted.error());
  if (*inserted) return std::nullopt;
  const Operation& sought = row.operation;
  auto known = find_row(connection, sought.tenant, sought.action_type, sought.intent_id);
  if (!known || *known) return known;
  return key_of_another_intent(sought);
}

Registered registered_as(NewRow row, std::optional<Operation> known) {
  if (known) return {std::move(*known), false};
  return {std::move(row.operation), true};
}

Result<void> insert_follow_ups(JournalConnection& connection, OperationRow& parent,
                               const std::vector<Operation>& follow_ups, CivilTime now,
                               std::string_view actor) {
  for (const auto& follow_up : follow_ups) {
    auto registered = check_registration(follow_up).and_then([&]() -> Result<Registered> {
      NewRow row(registered_form(follow_up));
      auto known = insert_or_read(connection, row, actor);
      if (!known) return tl::unexpected(known.error());
      return registered_as(std::move(row), std::move(*known));
    });
    if (!registered && registered.error().certainty() == Certainty::indefinite) {
      return tl::unexpected(registered.error());  // the transaction is lost, with the success
    }
    auto refused = follow_up_refused(follow_up, registered);
    if (!refused) continue;
    auto query = connection.use(Sql::note_event);
    if (!query) return tl::unexpected(query.error());
    const std::string key(parent.operation_key());
    (*query)->bind(1, key);
    const auto changed = copy_one(**query, parent);
    if (!changed) return tl::unexpected(changed.error());
    if (!*changed) return no_such_operation(key);
    auto noted = note_change(connection, parent, *parent.status(),
                             {now, actor, "follow_up_refused", std::move(*refused)});
    if (!noted) return noted;
  }
  return {};
}

}  // namespace onceproof
