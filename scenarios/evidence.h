// The history, arranged by intent: which effects, calls and answers belong to which. Attribution is
// by what the effect is about (its business reference), never by a key: keys are what is on trial.
// Invariant: every effect of an intent's business reference belongs to exactly one intent.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scenarios/history.h"
#include "scenarios/verdict.h"

namespace onceproof::scenarios {

struct IntentEvidence {
  const IntentRecord* intent = nullptr;
  bool submitted = false;
  bool looks_alike = false;  // another submitted intent has the same business reference
  std::vector<const fakes::Effect*> effects;
  // Of its business reference: shared by intents that look alike.
  std::vector<const fakes::WireEntry*> creates;
  std::vector<const fakes::WireEntry*> lookups;  // those that are known to be about it
  std::vector<const Exchange*> submits;          // unchanged, in order of sending
  std::vector<const Exchange*> changed;          // with other parameters
  std::vector<const Exchange*> answers;  // submits (unchanged) and statuses that were answered, by
                                         // time of the answer
};

class Evidence {
 public:
  explicit Evidence(const History& history);

  const History& history() const { return history_; }
  // Of the intents that were submitted, by name.
  const std::map<std::string, IntentEvidence>& intents() const { return intents_; }

  // "1.204 s": since the cell's start.
  std::string at(MonotonicTime time) const;
  // "request 3 (POST /payments, key op_x, at 0.301 s: created pay_000001, no reply reached w1)"
  std::string describe(const fakes::WireEntry& entry) const;

 private:
  void gather_exchanges();
  void gather_wire();
  void attribute_effects();

  const History& history_;
  std::map<std::string, IntentEvidence> intents_;
};

// Whether every member of the intent's parameters has this value in `sent`: numbers by value, texts
// without outer spaces, currencies in any case; a null member may be missing. Members that only
// `sent` has do not count.
bool carries(const Json& sent, const Json& params);
// The parts of an answer that a repeat must give again.
bool is_final(const Exchange& exchange);  // answered succeeded or failed_final
bool is_create(const fakes::WireEntry& entry);

}  // namespace onceproof::scenarios
