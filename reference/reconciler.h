// Settles what is unknown: asks the provider, records what is proved, escalates in the end. Never
// repeats a call blindly. A driver of reference/protocol. One pass, or a loop with a stop token.
// Source: guide, step 7.
#pragma once

#include <cstddef>
#include <stop_token>

#include "reference/executor.h"

namespace onceproof {

struct ReconcilePass {
  std::size_t checked = 0;  // operations taken
  std::size_t settled = 0;  // of them now terminal or in review
};

class Reconciler {
 public:
  explicit Reconciler(ExecutorParts parts);

  // Takes what is due, at most `batch`, and drives each one as far as it goes: verifies what is
  // unknown, delivers what is pending with parameters that were kept (what the outbox registered,
  // follow-ups, what was proved absent). Without them it waits, pending, for the next submit.
  // At `stop` the operation that is under way is finished, and no other one begun.
  static constexpr std::size_t kBatch = 100;
  Result<ReconcilePass> run_once(std::size_t batch = kBatch, const std::stop_token& stop = {});
  void run(const std::stop_token& stop, Milliseconds interval);

 private:
  bool settle(const Operation& operation);

  ExecutorParts parts_;
};

}  // namespace onceproof
