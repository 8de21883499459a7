// One connection to the journal's file with its statements, prepared once, and the way from a row
// to an Operation and back. One thread at a time. Invariant: a statement that is not in use is
// reset, so that no read transaction stays open.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/sqlite.h"
#include "reference/journal.h"

namespace onceproof {

// Every statement that the journal runs; the texts stand in sqlite_rows.cc.
enum class Sql {
  load,           // ?1 operation_key
  load_standing,  // ?1 operation_key -> status, attempt_count, external_id
  find,           // ?1 tenant, ?2 action_type, ?3 intent_id
  list,           // ?1 limit, ?2 after_key
  list_status,    // ?1 limit, ?2 after_key, ?3 status
  list_review,    // ?1 limit, ?2 after_key, ?3 status or NULL
  children,       // ?1 parent_key
  events,         // ?1 operation_key
  insert,         // bind_new
  insert_event,   // bind_event
  claim,
  mark_succeeded,
  note_event,  // event_count + 1, nothing else
  mark_failed_final,
  mark_unknown,
  release_for_retry,
  escalate,
  resolve,
  due_keys,
  hold,
  purge,
  purge_events,
  count,  // how many there are
};

class JournalConnection {
 public:
  explicit JournalConnection(Database database) : database_(std::move(database)) {}

  // Resets the statement at the end of its life.
  class Use {
   public:
    explicit Use(Statement& statement) : statement_(&statement) {}
    Use(Use&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)) {}
    Use& operator=(Use&&) = delete;
    ~Use() {
      if (statement_ != nullptr) statement_->reset();
    }
    Statement* operator->() { return statement_; }
    Statement& operator*() { return *statement_; }

   private:
    Statement* statement_;
  };
  Result<Use> use(Sql sql);
  Database& database() { return database_; }

 private:
  Database database_;
  std::array<std::optional<Statement>, static_cast<std::size_t>(Sql::count)> statements_;
};

// A row of agent_operations, copied out of its statement. To copy is quick; to read it is not, and
// is done where nobody waits: on the caller's own thread, after the transaction.
class OperationRow {
 public:
  static constexpr int kColumns = 27;

  OperationRow() { texts_.reserve(kUsualBytes); }  // the memory is the caller's, not the writer's
  void copy(const Statement& row);

  bool is_null(int column) const { return cell(column).null; }
  std::int64_t integer(int column) const { return cell(column).value; }
  std::string_view text_view(int column) const {
    return std::string_view(texts_).substr(static_cast<std::size_t>(cell(column).value),
                                           cell(column).size);
  }
  std::string_view operation_key() const { return text_view(0); }
  std::optional<Status> status() const { return parse_status(text_view(7)); }
  std::int64_t event_count() const { return integer(23); }

 private:
  static constexpr std::size_t kUsualBytes = 1'024;
  struct Cell {
    std::int64_t value = 0;  // an integer, or where a text begins
    std::size_t size = 0;    // of a text, bytes
    bool null = true;
  };
  const Cell& cell(int column) const { return cells_[static_cast<std::size_t>(column)]; }
  std::array<Cell, kColumns> cells_;
  std::string texts_;
};

std::int64_t to_column(CivilTime time);
std::optional<std::int64_t> to_column(const std::optional<CivilTime>& time);
std::optional<std::string> text_or_null(std::string_view text);
std::optional<std::string> json_or_null(const Json& json);

// Errors: journal_corrupt (a status or a JSON text that no journal writes).
Result<Operation> read_operation(const Statement& row);
Result<Operation> read_operation(const OperationRow& row);
Result<Event> read_event(const Statement& row);
// Runs a statement whose parameters are bound: its one row or none; all its rows.
Result<std::optional<Operation>> read_one(Statement& statement);
Result<bool> copy_one(Statement& statement, OperationRow& row);  // false: there is none
Result<std::vector<Operation>> read_all(Statement& statement);

// An operation that is to be inserted, with what can be made of it before its turn comes.
struct NewRow {
  explicit NewRow(Operation o);
  Operation operation;
  std::string field_digests;        // JSON
  std::optional<CivilTime> due_at;  // as in the schema
};

void bind_new(Statement& statement, const NewRow& row);
void bind_event(Statement& statement, const Event& event);

}  // namespace onceproof
