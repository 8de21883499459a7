// The idempotent executor: an intent in, an honest answer out. Journal first, then the network; in
// doubt, `verification_required`. A driver of reference/protocol over the four seams Clock,
// Journal, Provider, Random; decides nothing itself. Source: guide, steps 4-6.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "reference/journal.h"
#include "reference/operation.h"
#include "reference/policy.h"
#include "reference/protocol.h"
#include "reference/provider.h"
#include "reference/sealer.h"

namespace onceproof {

enum class AnswerStatus {
  pending,
  in_progress,
  unknown,
  succeeded,
  failed_final,           // the guide's five
  conflict,               // the intent id is known with other parameters; nothing was called
  verification_required,  // unknown: the effect may exist
  review,                 // handed to a person
};
std::string_view to_text(AnswerStatus status);

struct Answer {
  AnswerStatus status = AnswerStatus::verification_required;
  std::string operation_key;
  std::string external_id;
  Json result;  // null: none
  std::string
      error_code;  // "operation_key_in_use": conflict, the caller's key names another intent
  std::vector<std::string> differing_fields;  // conflict: names only
};

struct ExecutorParts {
  Clock& clock;
  Journal& journal;
  Random& random;
  const Protocol& protocol;
  const Policy& policy;
  std::map<std::string, Provider*> providers;  // by action
  std::string owner;                           // "w1": lease owner and actor in events
  const Sealer* sealer = nullptr;              // for tools that keep their parameters

  Result<Provider*> find_provider(const std::string& action) const;  // Errors: not_found
};

class Executor {
 public:
  explicit Executor(ExecutorParts parts);
  // Blocks for at most one lookup and one call, plus local transactions. Thread-safe if the parts
  // are. Errors: invalid_argument (the intent breaks the policy), not_found (no such action),
  // journal_unavailable (indefinite). An error means that nothing was called. After a call there is
  // always an answer: if its outcome could not be recorded, `verification_required` with the
  // journal's error code. A second effect that comes to light: `duplicate_effect`.
  Result<Answer> submit(const Intent& intent);
  // What the journal says; makes no call. Errors: not_found, journal_unavailable.
  Result<Answer> status(std::string_view tenant, std::string_view action,
                        std::string_view intent_id);

 private:
  struct Work {  // one submit
    const Intent& intent;
    const ToolPolicy& tool;
    Provider& provider;
  };
  Result<Answer> begin(const Work& work);
  Result<Answer> resume(const Work& work, Operation operation);

  ExecutorParts parts_;
};

}  // namespace onceproof
