// The outside world as the executor sees it: call, and ask what became of a call.
// Invariant: an outcome is `confirmed` or `rejected` only if the answer was whole and of the
// provider's own shape; everything else is ambiguous. A method never throws, never outlives its
// time limit, never repeats a call by itself. Source: guide, steps 5-7.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "reference/guarantees.h"

namespace onceproof {

enum class OutcomeKind {
  confirmed,    // the effect exists; external_id names it
  rejected,     // proof that no effect exists
  not_started,  // proof that nothing was begun; worth another call later
  ambiguous,    // anything else
};

struct CallOutcome {
  OutcomeKind kind = OutcomeKind::ambiguous;
  std::string external_id;  // confirmed
  Json result;              // confirmed: the provider's answer, not yet cut to the allow-list
  std::string error_code;   // a short code, never the provider's text: "timeout", "http_502",
                            // "card_declined"
  std::optional<Milliseconds> retry_after;
};

struct CallRequest {
  std::string operation_key;
  std::int64_t attempt = 1;
  std::string action;
  Json params;
  Milliseconds timeout{0};  // total
};

enum class LookupKind {
  found,             // exists and is completed
  found_incomplete,  // exists, not completed yet
  found_several,     // more than one effect of one operation exists
  not_found,         // the provider lists none: absence is for the decision core to prove
  failed,            // no usable answer
  unsupported,
};

struct LookupResult {
  LookupKind kind = LookupKind::failed;
  std::string external_id;
  Json result;
  std::string error_code;
};

class Provider {
 public:
  virtual ~Provider() = default;
  // Blocks for at most request.timeout. Thread-safe.
  virtual CallOutcome call(const CallRequest& request) = 0;
  // By key or reference, as the guarantees say. Blocks for at most `timeout`. Thread-safe.
  virtual LookupResult find(std::string_view action, std::string_view operation_key,
                            Milliseconds timeout) = 0;
  virtual const Guarantees& guarantees() const = 0;
};

}  // namespace onceproof
