// A journal that forgets: for simulation and for tests of what stands on the seam. Not for
// production: a cache is no journal (guide, "Кэш вместо долговечного журнала"). Invariant: the same
// answers as SqliteJournal; journal_conformance_test.cc runs against both. Thread-safe; one lock;
// never fails with journal_unavailable.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "reference/journal.h"
#include "reference/retention.h"

namespace onceproof {

class MemoryJournal final : public Journal, public TerminalRows {
 public:
  Result<Registered> register_operation(const Operation& operation,
                                        std::string_view actor) override;
  Result<Registered> register_and_claim(const Operation& operation, std::string_view owner,
                                        CivilTime lease_until) override;
  Result<Claim> claim(const ClaimRequest& request) override;
  Result<SuccessRecorded> mark_succeeded(std::string_view operation_key, std::int64_t attempt,
                                         const Success& success, CivilTime now,
                                         std::string_view actor) override;
  Result<Operation> mark_failed_final(std::string_view operation_key, std::int64_t attempt,
                                      const Failure& failure, CivilTime now,
                                      std::string_view actor) override;
  Result<Operation> mark_unknown(std::string_view operation_key, std::int64_t attempt,
                                 std::string_view error_code, CivilTime next_check_at,
                                 CivilTime now, std::string_view actor) override;
  Result<Operation> release_for_retry(std::string_view operation_key, std::int64_t attempt,
                                      std::string_view reason, std::optional<CivilTime> not_before,
                                      CivilTime now, std::string_view actor) override;
  Result<Operation> escalate(std::string_view operation_key, std::int64_t attempt,
                             std::string_view reason, CivilTime now,
                             std::string_view actor) override;
  Result<Operation> resolve(std::string_view operation_key, const Resolution& resolution,
                            const std::vector<Operation>& follow_ups, CivilTime now) override;
  Result<Operation> load(std::string_view operation_key) override;
  Result<std::optional<Operation>> find(std::string_view tenant, std::string_view action_type,
                                        std::string_view intent_id) override;
  Result<std::vector<Operation>> take_due(CivilTime now, Milliseconds hold,
                                          std::size_t limit) override;
  Result<std::vector<Operation>> list(const ListFilter& filter) override;
  Result<std::vector<Operation>> children(std::string_view parent_key) override;
  Result<std::vector<Event>> events(std::string_view operation_key) override;
  Result<std::size_t> purge_terminal(std::string_view action_type, CivilTime ended_before,
                                     std::size_t limit) override;

 private:
  struct Row {
    Operation operation;
    std::optional<CivilTime>
        due_at;  // when take_due may give it out; empty: nothing to do by itself
    std::vector<Event> events;
  };
  using Triple =
      std::tuple<std::string, std::string, std::string>;  // tenant, action_type, intent_id
  struct Tables {
    std::map<std::string, Row, std::less<>> rows;  // by operation_key
    std::map<Triple, std::string> keys;
  };

  static Result<std::pair<Row*, bool>> insert_or_find(Tables& tables, const Operation& operation,
                                                      std::string_view actor);
  static Result<Row*> find_row(Tables& tables, std::string_view operation_key);
  static Result<Row*> find_attempt(Tables& tables, std::string_view operation_key,
                                   std::int64_t attempt, bool also_unknown);
  static void register_follow_ups(Tables& tables, Row& parent,
                                  const std::vector<Operation>& follow_ups, CivilTime now,
                                  std::string_view actor);
  static void release(Row& row, std::optional<CivilTime> not_before, CivilTime now);
  static void end(Row& row, const Json& result);
  static void note(Row& row, std::optional<Status> from, CivilTime at, std::string_view actor,
                   std::string_view reason, std::string detail);
  static void begin_attempt(Row& row, std::string_view owner, CivilTime now, CivilTime lease_until);

  Guarded<Tables> tables_;
};

}  // namespace onceproof
