// The decision core: what to do next. Pure: (operation, policy, guarantees, now, observation) ->
// decision; performs nothing, reads no clock, allocates little. Executor, reconciler and simulator
// are drivers of this one core. Invariant: call is decided only where no effect can exist (pending)
// or where a live key makes the repeat harmless. Every limit must be strictly past: civil times are
// cut to milliseconds, and `at the limit` may be just before it. Source: guide, steps 4-7; the
// table in ARCHITECTURE.md, row by row in protocol_test.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "reference/guarantees.h"
#include "reference/operation.h"
#include "reference/policy.h"
#include "reference/provider.h"

namespace onceproof {

enum class Do {
  answer_conflict,     // the hash differs, whatever the status; nothing is called
  answer_stored,       // terminal: return what is stored
  answer_in_progress,  // a live lease: somebody is calling
  answer_pending,      // released with a not-before that lies ahead
  answer_unknown,      // unknown, and its next check is not due
  answer_review,       // a person decides
  claim_and_call,      // claim the next attempt, then call
  verify,              // ask the provider first
  record_succeeded,
  record_failed_final,
  record_unknown,  // check again at `at`
  release,         // absence is proved (or the call never started): pending, not before `at`
  escalate,        // to review
};

struct Decision {
  Do what = Do::answer_unknown;
  std::string_view why;         // one of a fixed set of reasons, for events and traces
  std::optional<CivilTime> at;  // record_unknown, release: when it is due
};

// What a caller's submit, or the reconciler's turn, finds in the journal.
struct Found {
  const Operation& operation;
  bool same_hash = true;
};

class Protocol {
 public:
  virtual ~Protocol() = default;

  // A submit found `operation`. Rows of DESIGN 4.3 above "verify".
  virtual Decision on_submit(const Found& found, const ToolPolicy& policy,
                             const Guarantees& guarantees, CivilTime now) const;
  // The reconciler took it because it was due.
  virtual Decision on_due(const Operation& operation, const ToolPolicy& policy,
                          const Guarantees& guarantees, CivilTime now) const;
  // Just before sending: may the call still be made under this lease? (now + call_timeout <
  // lease_until)
  virtual bool may_send(const Operation& claimed, const ToolPolicy& policy, CivilTime now) const;
  // The same for a resend, while an earlier attempt is unresolved: the key must still be
  // remembered, too. It was when the resend was decided; a claim that took long may have outlasted
  // the window.
  virtual bool may_resend(const Operation& claimed, const ToolPolicy& policy,
                          const Guarantees& guarantees, CivilTime now) const;
  // The call of a claimed attempt ended. `prior` is the status before the claim: a rejection proves
  // the absence of *this* attempt's effect only, so after an unresolved earlier attempt it is not
  // final.
  virtual Decision on_outcome(const Operation& operation, Status prior, const CallOutcome& outcome,
                              const ToolPolicy& policy, const Guarantees& guarantees, CivilTime now,
                              Random& jitter) const;
  // A lookup that was begun at `asked_at` ended.
  virtual Decision on_lookup(const Operation& operation, const LookupResult& lookup,
                             CivilTime asked_at, const ToolPolicy& policy,
                             const Guarantees& guarantees, CivilTime now, Random& jitter) const;
  // Nothing more can be learned now, and no call may be made, or the driver has not the parameters
  // to make one: check again later, with backoff; past unknown_after, to review. `not_before`: the
  // provider asked to be left alone until then.
  virtual Decision on_unresolved(const Operation& operation, const ToolPolicy& policy,
                                 const Guarantees& guarantees, CivilTime now, Random& jitter,
                                 std::optional<CivilTime> not_before = {}) const;

  // An effect of any earlier attempt can become visible until this instant; a lookup begun *after*
  // it proves absence. nullopt: never. It is last_attempt_at + lease + max_in_flight + index_delay.
  // The lease, not the call's time-out, because last_attempt_at is the instant of the claim:
  // may_send allows a slow worker to begin its call later, as long as it ends before the lease
  // does.
  static std::optional<CivilTime> provable_absence_at(const Operation& operation,
                                                      const ToolPolicy& policy,
                                                      const Guarantees& guarantees);
  // now + call_timeout < first_attempt_at + window.
  static bool key_dedup_is_live(const Operation& operation, const ToolPolicy& policy,
                                const Guarantees& guarantees, CivilTime now);
};

}  // namespace onceproof
