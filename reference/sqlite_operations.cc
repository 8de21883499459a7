#include "reference/sqlite_operations.h"

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
Result<bool> insert_row(JournalConnection& connection, const Operation& row,
                        std::string_view actor) {
  const bool claimed = row.lease_until.has_value();
  auto query = connection.use(Sql::insert);
  if (!query) return tl::unexpected(query.error());
  std::optional<CivilTime> due_at;
  if (claimed) {
    due_at = *row.lease_until + Milliseconds{1};
  } else if (!row.sealed_params.empty()) {
    due_at = row.created_at;
  }
  bind_new(**query, row, due_at);
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

Result<Operation> note_change(JournalConnection& connection, Operation changed, Status from,
                              Note note) {
  Event event{changed.operation_key,
              changed.event_count,
              note.now,
              std::string(note.actor),
              from,
              changed.status,
              std::string(note.reason),
              std::move(note.detail)};
  if (auto done = insert_event(connection, event); !done) return tl::unexpected(done.error());
  return changed;
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

Result<Operation> insert_follow_ups(JournalConnection& connection, Operation parent,
                                    const std::vector<Operation>& follow_ups, CivilTime now,
                                    std::string_view actor) {
  for (const auto& follow_up : follow_ups) {
    const auto row = check_registration(follow_up).map([&] { return registered_form(follow_up); });
    const auto registered =
        row.and_then([&](const Operation& r) { return insert_or_read(connection, r, actor); });
    if (!registered && registered.error().certainty() == Certainty::indefinite) {
      return tl::unexpected(registered.error());  // the transaction is lost, with the success
    }
    auto refused = follow_up_refused(follow_up, registered);
    if (!refused) continue;
    auto query = connection.use(Sql::note_event);
    if (!query) return tl::unexpected(query.error());
    (*query)->bind(1, parent.operation_key);
    auto changed = read_one(**query);
    if (!changed) return tl::unexpected(changed.error());
    if (!*changed) return no_such_operation(parent.operation_key);
    auto noted = note_change(connection, std::move(**changed), parent.status,
                             {now, actor, "follow_up_refused", std::move(*refused)});
    if (!noted) return noted;
    parent = std::move(*noted);
  }
  return parent;
}

}  // namespace onceproof
