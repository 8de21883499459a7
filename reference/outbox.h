// The business row and the intent to act on it, in one transaction of the caller's: both exist or
// neither does, whatever crashes where. The call is made later, by any Reconciler that has the
// journal, the policy and the key: no caller is needed any more. The journal's tables stand beside
// the caller's (SqliteJournal::open with FileUse::shared, once, makes them).
// Invariant: begins and commits nothing; a call that returned an error has changed nothing.
// Source: guide, "Журнал не заменяет транзакцию" (outbox).
#pragma once

#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "reference/journal.h"
#include "reference/policy_file.h"
#include "reference/sealer.h"

struct sqlite3;

namespace onceproof {

struct OutboxParts {
  Clock& clock;
  Random& random;
  const PolicyFile& policy;
  const Sealer& sealer;
  std::string actor;  // in the event: who registered it
};

class Outbox {
 public:
  explicit Outbox(OutboxParts parts) : parts_(std::move(parts)) {}

  // Registers `intent` in the transaction that is open on `transaction`; it is due as soon as the
  // caller commits. The same intent again is returned as it stands. Thread-safe over different
  // connections. Errors: invalid_argument (no transaction is open; the intent breaks the policy;
  // its tool does not keep its parameters), already_exists (the intent is known with other
  // parameters, or its key belongs to another intent), not_found (no such tool), unsupported (the
  // file has no journal of this version), journal_unavailable (roll back).
  Result<Registered> register_in(sqlite3* transaction, const Intent& intent) const;

 private:
  OutboxParts parts_;
};

}  // namespace onceproof
