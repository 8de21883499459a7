#include "reference/outbox.h"

#include <fmt/format.h>

#include "base/text.h"
#include "reference/journal_rules.h"
#include "reference/registration.h"
#include "reference/request_hash.h"
#include "reference/sqlite_operations.h"
#include "reference/sqlite_schema.h"

namespace onceproof {
namespace {

// Half of a registration must not be committed by a caller who goes on after an error.
class Savepoint {
 public:
  static Result<Savepoint> begin(Database& database) {
    return database.execute("SAVEPOINT onceproof_outbox").map([&] { return Savepoint(database); });
  }
  Savepoint(Savepoint&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Savepoint& operator=(Savepoint&&) = delete;
  ~Savepoint() {
    if (database_ == nullptr) return;
    static_cast<void>(database_->execute("ROLLBACK TO onceproof_outbox"));
    static_cast<void>(database_->execute("RELEASE onceproof_outbox"));
  }
  Result<void> release() {
    return std::exchange(database_, nullptr)->execute("RELEASE onceproof_outbox");
  }

 private:
  explicit Savepoint(Database& database) : database_(&database) {}
  Database* database_;
};

Result<void> check_transaction(Database& database) {
  if (database.in_transaction()) return {};
  return fail(ErrorCode::invalid_argument,
              "register_in needs the transaction of the business row, and none is open on this "
              "connection; BEGIN first");
}

Result<void> check_same_meaning(const Intent& intent, const ToolPolicy& tool,
                                const Operation& stored) {
  const auto hash = make_request_hash(intent.action, intent.params, tool, stored.hash_version,
                                      stored.operation_key);
  if (!hash) return tl::unexpected(hash.error());
  if (hash->hash == stored.request_hash) return {};
  return fail(
      ErrorCode::already_exists,
      fmt::format("the intent '{}' is registered with other parameters; these differ: {}",
                  escape_terminal(shorten(intent.intent_id, 80)),
                  escape_terminal(fmt::format(
                      "{}", fmt::join(differing_fields(stored.field_digests, hash->field_digests),
                                      ", ")))));
}

}  // namespace

Result<Registered> Outbox::register_in(sqlite3* transaction, const Intent& intent) const {
  const auto tool = parts_.policy.policy.find_tool(intent.action);
  if (!tool) return tl::unexpected(tool.error());
  if (!(*tool)->keep_params) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("nobody repeats what the outbox registers but the reconciler, so the "
                            "policy of '{}' needs keep_params: encrypted",
                            escape_terminal(shorten(intent.action, 80))));
  }
  Database database = Database::borrow(transaction);
  auto checked = check_intent(intent, **tool, parts_.policy.guarantees_of(intent.action))
                     .and_then([&] { return check_transaction(database); })
                     .and_then([&] { return check_shared_schema(database); });
  if (!checked) return tl::unexpected(checked.error());

  const CivilTime now = parts_.clock.civil();
  auto prepared = prepare_operation(intent, **tool, now, &parts_.sealer, parts_.random);
  if (!prepared) return tl::unexpected(prepared.error());
  if (auto sound = check_registration(prepared->operation); !sound) {
    return tl::unexpected(sound.error());
  }
  auto savepoint = Savepoint::begin(database);
  if (!savepoint) return tl::unexpected(savepoint.error());
  JournalConnection connection(Database::borrow(transaction));
  NewRow row(registered_form(prepared->operation));
  auto known = insert_or_read(connection, row, parts_.actor);
  if (!known) return tl::unexpected(known.error());
  if (*known) {
    auto same = check_same_meaning(intent, **tool, **known);
    if (!same) return tl::unexpected(same.error());
  }
  if (auto released = savepoint->release(); !released) return tl::unexpected(released.error());
  return registered_as(std::move(row), std::move(*known));
}

}  // namespace onceproof
