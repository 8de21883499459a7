// How long the journal remembers. A record that is deleted too early turns a late repeat into a
// second payment. Invariants: only terminal operations are ever deleted, with their events; never
// one younger than the provider's memory of keys plus the time in which callers may repeat an
// intent. There is no default age: deleting is a decision. Source: guide, "Срок хранения слишком
// короткий".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "reference/guarantees.h"
#include "reference/policy.h"
#include "reference/policy_file.h"

namespace onceproof {

// The rows of a journal that may be deleted. MemoryJournal and SqliteJournal are such.
class TerminalRows {
 public:
  virtual ~TerminalRows() = default;
  // Deletes succeeded and failed_final operations of this action that ended before `ended_before`,
  // and their events: at most `limit`, in one transaction. The steps of a plan that has not ended
  // stay: its next submit needs their answers. Returns how many. Does not judge the age: purge()
  // does. Errors: journal_unavailable (indefinite).
  virtual Result<std::size_t> purge_terminal(std::string_view action_type, CivilTime ended_before,
                                             std::size_t limit) = 0;
};

// The shortest age at which a record of this tool can do no more good: key_dedup.window +
// retry_horizon. A caller may repeat the intent until retry_horizon after its end; the repeat is a
// call, and the provider remembers that one for another window.
Milliseconds shortest_safe_age(const ToolPolicy& tool, const Guarantees& guarantees);

struct PurgeRequest {
  std::string action;   // one action a time: each has its own provider and policy
  Milliseconds age{0};  // since the operation ended
  CivilTime now;
  std::size_t batch = 500;  // rows a transaction, so that workers are not kept waiting
};

// Deletes in batches until nothing is left that is old enough. Returns how many operations went.
// Errors: invalid_argument (the age is shorter than shortest_safe_age; says the numbers and why;
// nothing was deleted), not_found (no such action in the policy), journal_unavailable (what earlier
// batches deleted stays deleted).
Result<std::size_t> purge(TerminalRows& rows, const PurgeRequest& request, const Policy& policy,
                          const Guarantees& guarantees);

// The records of plans of one name (request.action). Whoever repeats a plan whose record is gone
// takes every step anew, so a plan's record lives as long as the longest-lived one of all tools.
// Errors: invalid_argument (too young; or the policy has a tool of this name), journal_unavailable.
Result<std::size_t> purge_plans(TerminalRows& rows, const PurgeRequest& request,
                                const PolicyFile& file);

}  // namespace onceproof
