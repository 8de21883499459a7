#include "bench/bare_journal.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/random.h"
#include "reference/operation_key.h"
#include "reference/sqlite_journal.h"

namespace onceproof {
namespace {

constexpr CivilTime kStart{Milliseconds{1'767'225'600'000}};  // 2026-01-01
constexpr Milliseconds kLease{30'000};

Database open_with_schema(const std::filesystem::path& path) {
  CHECK(SqliteJournal::open(path).has_value());
  return Database::open(path, Durability::full, std::chrono::seconds(5)).value();
}

}  // namespace

Operation bench_operation(std::string operation_key, std::size_t number) {
  Operation operation;
  operation.operation_key = std::move(operation_key);
  operation.tenant = "tenant-1";
  operation.intent_id = fmt::format("order-{:010}/intent-01", number);
  operation.action_type = "create_payment";
  operation.request_hash = std::string(64, 'a');
  operation.field_digests = {{"amount_minor", "0123456789abcdef"},
                             {"currency", "fedcba9876543210"},
                             {"order_id", "0f1e2d3c4b5a6978"}};
  operation.created_at = operation.updated_at = kStart;
  return operation;
}

std::string ordered_key(std::size_t number) {
  static SeededRandom random(1);
  return make_operation_key(kStart + Milliseconds{static_cast<std::int64_t>(number)}, random);
}

std::string random_key() {
  static SeededRandom random(2);
  return fmt::format("op_{:016x}{:016x}", random.next(), random.next());
}

BareJournal::BareJournal(const std::filesystem::path& path) : connection_(open_with_schema(path)) {}

void BareJournal::begin() {
  CHECK(connection_.database().execute("BEGIN IMMEDIATE").has_value());
}

void BareJournal::commit() {
  CHECK(connection_.database().execute("COMMIT").has_value());
}

void BareJournal::register_and_claim(const Operation& operation) {
  Operation row = operation;
  row.status = Status::in_progress;
  row.attempt_count = 1;
  row.first_attempt_at = row.last_attempt_at = kStart;
  row.lease_owner = "w1";
  row.lease_until = kStart + kLease;
  row.event_count = 2;
  auto insert = connection_.use(Sql::insert).value();
  bind_new(*insert, NewRow(row));
  CHECK(insert->step().has_value());
  auto event = connection_.use(Sql::insert_event).value();
  bind_event(*event,
             {row.operation_key, 1, kStart, "w1", std::nullopt, Status::pending, "registered", ""});
  CHECK(event->step().has_value());
  event->reset();
  bind_event(*event, {row.operation_key, 2, kStart, "w1", Status::pending, Status::in_progress,
                      "claimed", "attempt 1"});
  CHECK(event->step().has_value());
}

void BareJournal::record_success(const std::string& operation_key) {
  auto read = connection_.use(Sql::load_standing).value();
  CHECK(read->bind(1, operation_key).step().value());
  auto update = connection_.use(Sql::mark_succeeded).value();
  update->bind(1, operation_key)
      .bind(3, to_column(kStart))
      .bind(4, "pay_0123456789")
      .bind(5, R"({"status":"succeeded"})");
  CHECK(update->step().value());
  auto event = connection_.use(Sql::insert_event).value();
  bind_event(*event, {operation_key, 3, kStart, "w1", Status::in_progress, Status::succeeded,
                      "confirmed", "attempt 1, pay_0123456789"});
  CHECK(event->step().has_value());
}

void BareJournal::fill(std::size_t rows, const std::function<std::string(std::size_t)>& make_key) {
  begin();
  for (std::size_t n = 1; n <= rows; ++n) {
    auto insert = connection_.use(Sql::insert).value();
    bind_new(*insert, NewRow(bench_operation(make_key(n), n)));
    CHECK(insert->step().has_value());
  }
  commit();
}

std::size_t BareJournal::look_up(const std::string& operation_key) {
  auto read = connection_.use(Sql::load).value();
  CHECK(read->bind(1, operation_key).step().value());
  std::size_t bytes = 0;
  for (int column = 0; column < 27; ++column) {
    if (!read->is_null(column)) bytes += read->text(column).size();
  }
  return bytes;
}

}  // namespace onceproof
