#include "reference/memory_journal.h"

#include <algorithm>

#include "reference/journal_rules.h"

namespace onceproof {
namespace {

bool lease_is_dead(const Operation& operation, CivilTime now) {
  return operation.lease_until && *operation.lease_until < now;
}

bool is_claimable(const Operation& operation, CivilTime now) {
  if (operation.review_since) return false;
  switch (operation.status) {
    case Status::pending:
    case Status::unknown:
      return true;
    case Status::in_progress:
      return lease_is_dead(operation, now);
    default:
      return false;
  }
}

void end_lease(Operation& operation) {
  operation.lease_owner.clear();
  operation.lease_until.reset();
}

// What is over when the operation is settled, one way or another.
void end_doubt(Operation& operation) {
  end_lease(operation);
  operation.check_count = 0;
  operation.unknown_since.reset();
  operation.next_check_at.reset();
  operation.review_since.reset();
}

}  // namespace

// A pending operation is due by itself only if it can be called without its caller.
void MemoryJournal::release(Row& row, std::optional<CivilTime> not_before, CivilTime now) {
  Operation& operation = row.operation;
  end_doubt(operation);
  operation.next_check_at = not_before;
  row.due_at.reset();
  if (!operation.sealed_params.empty()) row.due_at = not_before.value_or(now);
}

void MemoryJournal::end(Row& row, const Json& result) {
  Operation& operation = row.operation;
  end_doubt(operation);
  operation.result = result;
  operation.sealed_params.clear();
  row.due_at.reset();
}

void MemoryJournal::note(Row& row, std::optional<Status> from, CivilTime at, std::string_view actor,
                         std::string_view reason, std::string detail) {
  row.events.push_back({row.operation.operation_key,
                        static_cast<std::int64_t>(row.events.size()) + 1, at, std::string(actor),
                        from, row.operation.status, std::string(reason), std::move(detail)});
  row.operation.event_count = static_cast<std::int64_t>(row.events.size());
}

Result<std::pair<MemoryJournal::Row*, bool>> MemoryJournal::insert_or_find(
    Tables& tables, const Operation& operation, std::string_view actor) {
  const Triple triple{operation.tenant, operation.action_type, operation.intent_id};
  if (const auto known = tables.keys.find(triple); known != tables.keys.end()) {
    return std::pair{&tables.rows.find(known->second)->second, false};
  }
  if (auto checked = check_registration(operation); !checked) {
    return tl::unexpected(checked.error());
  }
  const auto [at, inserted] = tables.rows.try_emplace(operation.operation_key);
  Row& row = at->second;
  if (!inserted) return key_of_another_intent(row.operation);
  row.operation = registered_form(operation);
  tables.keys.emplace(triple, operation.operation_key);
  if (!operation.sealed_params.empty()) row.due_at = operation.created_at;
  note(row, std::nullopt, operation.created_at, actor, "registered", "");
  return std::pair{&row, true};
}

void MemoryJournal::register_follow_ups(Tables& tables, Row& parent,
                                        const std::vector<Operation>& follow_ups, CivilTime now,
                                        std::string_view actor) {
  const std::string parent_key = parent.operation.operation_key;
  for (const auto& follow_up : follow_ups) {
    const auto registered = insert_or_find(tables, follow_up, actor);
    // Rows do not move: std::map.
    const auto refused = follow_up_refused(follow_up, registered.map([](const auto& found) {
      return Registered{found.first->operation, found.second};
    }));
    if (refused) {
      note(parent, parent.operation.status, now, actor, "follow_up_refused", *refused);
    }
  }
}

void MemoryJournal::begin_attempt(Row& row, std::string_view owner, CivilTime now,
                                  CivilTime lease_until) {
  Operation& operation = row.operation;
  const Status prior = operation.status;
  operation.status = Status::in_progress;
  ++operation.attempt_count;
  operation.last_attempt_at = now;
  operation.attempt_until = lease_until;
  if (!operation.first_attempt_at) operation.first_attempt_at = now;
  operation.lease_owner = owner;
  operation.lease_until = lease_until;
  operation.next_check_at.reset();
  operation.updated_at = now;
  row.due_at = lease_until + Milliseconds{1};  // dead when lease_until < now
  note(row, prior, now, owner, "claimed", claimed_detail(operation.attempt_count));
}

Result<MemoryJournal::Row*> MemoryJournal::find_row(Tables& tables,
                                                    std::string_view operation_key) {
  const auto found = tables.rows.find(operation_key);
  if (found == tables.rows.end()) return no_such_operation(operation_key);
  return &found->second;
}

// The row if `attempt` is its last one and still open: in_progress, or unknown and not in review.
Result<MemoryJournal::Row*> MemoryJournal::find_attempt(Tables& tables,
                                                        std::string_view operation_key,
                                                        std::int64_t attempt, bool also_unknown) {
  auto row = find_row(tables, operation_key);
  if (!row) return row;
  const Operation& operation = (*row)->operation;
  const bool open =
      operation.status == Status::in_progress ||
      (also_unknown && operation.status == Status::unknown && !operation.review_since);
  if (!open || operation.attempt_count != attempt) return write_refused(operation, attempt);
  return row;
}

Result<Registered> MemoryJournal::register_operation(const Operation& operation,
                                                     std::string_view actor) {
  auto tables = tables_.lock();
  return insert_or_find(*tables, operation, actor).map([](const auto& found) {
    return Registered{found.first->operation, found.second};
  });
}

Result<Registered> MemoryJournal::register_and_claim(const Operation& operation,
                                                     std::string_view owner,
                                                     CivilTime lease_until) {
  auto tables = tables_.lock();
  return insert_or_find(*tables, operation, owner).map([&](const auto& found) {
    const auto [row, created] = found;
    if (created) begin_attempt(*row, owner, operation.created_at, lease_until);
    return Registered{row->operation, created};
  });
}

Result<Claim> MemoryJournal::claim(const ClaimRequest& request) {
  auto tables = tables_.lock();
  const auto row = find_row(*tables, request.operation_key);
  if (!row) return tl::unexpected(row.error());
  const Operation& operation = (*row)->operation;
  if (!is_claimable(operation, request.now) ||
      operation.attempt_count != request.expected_attempt) {
    return claim_refused(operation, request);
  }
  const Status prior = operation.status;
  begin_attempt(**row, request.owner, request.now, request.lease_until);
  return Claim{prior, operation};
}

Result<Journal::SuccessRecorded> MemoryJournal::mark_succeeded(std::string_view operation_key,
                                                               std::int64_t attempt,
                                                               const Success& success,
                                                               CivilTime now,
                                                               std::string_view actor) {
  const std::string& external_id = success.external_id;
  if (external_id.empty()) return no_external_id(operation_key);
  auto tables = tables_.lock();
  const auto row = find_row(*tables, operation_key);
  if (!row) return tl::unexpected(row.error());
  Operation& operation = (*row)->operation;
  const auto detail = confirmed_detail(attempt, operation.attempt_count, external_id);
  if (is_terminal(operation.status)) {
    const bool duplicate = operation.external_id != external_id;
    if (duplicate) note(**row, operation.status, now, actor, "duplicate_effect", detail);
    return SuccessRecorded{operation, duplicate};
  }
  const Status prior = std::exchange(operation.status, Status::succeeded);
  end(**row, success.result);
  operation.external_id = external_id;
  operation.error_code.clear();
  operation.updated_at = now;
  note(**row, prior, now, actor, "confirmed", detail);
  register_follow_ups(*tables, **row, success.follow_ups, now, actor);
  return SuccessRecorded{operation, false};
}

Result<Operation> MemoryJournal::mark_failed_final(std::string_view operation_key,
                                                   std::int64_t attempt, const Failure& failure,
                                                   CivilTime now, std::string_view actor) {
  auto tables = tables_.lock();
  const auto row = find_attempt(*tables, operation_key, attempt, false);
  if (!row) return tl::unexpected(row.error());
  Operation& operation = (*row)->operation;
  const Status prior = std::exchange(operation.status, Status::failed_final);
  end(**row, failure.result);
  operation.error_code = failure.error_code;
  operation.updated_at = now;
  note(**row, prior, now, actor, "rejected", failure.error_code);
  return operation;
}

Result<Operation> MemoryJournal::mark_unknown(std::string_view operation_key, std::int64_t attempt,
                                              std::string_view error_code, CivilTime next_check_at,
                                              CivilTime now, std::string_view actor) {
  auto tables = tables_.lock();
  const auto row = find_attempt(*tables, operation_key, attempt, true);
  if (!row) return tl::unexpected(row.error());
  Operation& operation = (*row)->operation;
  const Status prior = std::exchange(operation.status, Status::unknown);
  const bool again = prior == Status::unknown;
  if (again) ++operation.check_count;
  end_lease(operation);
  if (!operation.unknown_since) operation.unknown_since = now;
  operation.next_check_at = next_check_at;
  operation.error_code = error_code;
  operation.updated_at = now;
  (*row)->due_at = next_check_at;
  note(**row, prior, now, actor, again ? "still_unknown" : "ambiguous", std::string(error_code));
  return operation;
}

Result<Operation> MemoryJournal::release_for_retry(std::string_view operation_key,
                                                   std::int64_t attempt, std::string_view reason,
                                                   std::optional<CivilTime> not_before,
                                                   CivilTime now, std::string_view actor) {
  auto tables = tables_.lock();
  const auto row = find_attempt(*tables, operation_key, attempt, true);
  if (!row) return tl::unexpected(row.error());
  Operation& operation = (*row)->operation;
  const Status prior = std::exchange(operation.status, Status::pending);
  release(**row, not_before, now);
  operation.updated_at = now;
  note(**row, prior, now, actor, reason, claimed_detail(attempt));
  return operation;
}

Result<Operation> MemoryJournal::escalate(std::string_view operation_key, std::int64_t attempt,
                                          std::string_view reason, CivilTime now,
                                          std::string_view actor) {
  auto tables = tables_.lock();
  const auto row = find_attempt(*tables, operation_key, attempt, true);
  if (!row) return tl::unexpected(row.error());
  Operation& operation = (*row)->operation;
  const Status prior = std::exchange(operation.status, Status::unknown);
  end_lease(operation);
  if (!operation.unknown_since) operation.unknown_since = now;
  operation.next_check_at.reset();
  operation.review_since = now;
  operation.updated_at = now;
  (*row)->due_at.reset();
  note(**row, prior, now, actor, "escalated", std::string(reason));
  return operation;
}

Result<Operation> MemoryJournal::resolve(std::string_view operation_key,
                                         const Resolution& resolution,
                                         const std::vector<Operation>& follow_ups, CivilTime now) {
  if (auto checked = check_resolution(resolution); !checked) {
    return tl::unexpected(checked.error());
  }
  auto tables = tables_.lock();
  const auto row = find_row(*tables, operation_key);
  if (!row) return tl::unexpected(row.error());
  Operation& operation = (*row)->operation;
  if (!operation.review_since || operation.event_count != resolution.seen) {
    return resolve_refused(operation, resolution);
  }
  const Status prior = std::exchange(operation.status, resolved_status(resolution));
  operation.resolved_by = resolution.by;
  operation.updated_at = now;
  switch (resolution.how) {
    case Resolution::How::succeeded:
      end(**row, nullptr);
      operation.external_id = resolution.external_id;
      operation.error_code.clear();
      break;
    case Resolution::How::failed:
      end(**row, nullptr);
      operation.error_code = kResolvedFailed;
      break;
    case Resolution::How::absent:
      release(**row, std::nullopt, now);
      break;
  }
  note(**row, prior, now, resolution.by, "resolved", resolved_detail(resolution));
  if (resolution.how == Resolution::How::succeeded) {
    register_follow_ups(*tables, **row, follow_ups, now, resolution.by);
  }
  return operation;
}

Result<Operation> MemoryJournal::load(std::string_view operation_key) {
  auto tables = tables_.lock();
  return find_row(*tables, operation_key).map([](Row* row) { return row->operation; });
}

Result<std::optional<Operation>> MemoryJournal::find(std::string_view tenant,
                                                     std::string_view action_type,
                                                     std::string_view intent_id) {
  auto tables = tables_.lock();
  const auto key = tables->keys.find(
      Triple{std::string(tenant), std::string(action_type), std::string(intent_id)});
  if (key == tables->keys.end()) return std::nullopt;
  return tables->rows.find(key->second)->second.operation;
}

Result<std::vector<Operation>> MemoryJournal::take_due(CivilTime now, Milliseconds hold,
                                                       std::size_t limit) {
  auto tables = tables_.lock();
  std::vector<Row*> due;
  for (auto& [key, row] : tables->rows) {  // by key: so are those that are due at one instant
    if (row.due_at && *row.due_at <= now) due.push_back(&row);
  }
  std::ranges::stable_sort(due, {}, [](const Row* row) { return *row->due_at; });
  due.resize(std::min(due.size(), limit));
  std::vector<Operation> taken;
  for (Row* row : due) {
    row->due_at = now + hold;
    taken.push_back(row->operation);
  }
  return taken;
}

Result<std::vector<Operation>> MemoryJournal::list(const ListFilter& filter) {
  auto tables = tables_.lock();
  std::vector<Operation> found;
  auto row = tables->rows.upper_bound(filter.after_key);
  for (; row != tables->rows.end() && found.size() < filter.limit; ++row) {
    const Operation& operation = row->second.operation;
    if (filter.status && operation.status != *filter.status) continue;
    if (filter.in_review && !operation.review_since) continue;
    found.push_back(operation);
  }
  return found;
}

Result<std::vector<Operation>> MemoryJournal::children(std::string_view parent_key) {
  auto tables = tables_.lock();
  std::vector<Operation> found;
  for (const auto& [key, row] : tables->rows) {
    if (row.operation.parent_key == parent_key) found.push_back(row.operation);
  }
  return found;
}

Result<std::vector<Event>> MemoryJournal::events(std::string_view operation_key) {
  auto tables = tables_.lock();
  const auto found = tables->rows.find(operation_key);
  return found == tables->rows.end() ? std::vector<Event>{} : found->second.events;
}

Result<std::size_t> MemoryJournal::purge_terminal(std::string_view action_type,
                                                  CivilTime ended_before, std::size_t limit) {
  auto tables = tables_.lock();
  std::size_t purged = 0;
  for (auto at = tables->rows.begin(); at != tables->rows.end() && purged < limit;) {
    const Operation& operation = at->second.operation;
    const auto parent = tables->rows.find(operation.parent_key);
    const bool needed =
        parent != tables->rows.end() && !is_terminal(parent->second.operation.status);
    const bool old = is_terminal(operation.status) && operation.action_type == action_type &&
                     operation.updated_at < ended_before;
    if (!old || needed) {
      ++at;
      continue;
    }
    tables->keys.erase({operation.tenant, operation.action_type, operation.intent_id});
    at = tables->rows.erase(at);
    ++purged;
  }
  return purged;
}

}  // namespace onceproof
