#include "reference/reconciler.h"

#include <algorithm>

#include "reference/turn.h"

namespace onceproof {
namespace {

bool is_settled(const Operation& operation) {
  return is_terminal(operation.status) || operation.review_since.has_value();
}

}  // namespace

Reconciler::Reconciler(ExecutorParts parts) : parts_(std::move(parts)) {}

Result<ReconcilePass> Reconciler::run_once(std::size_t batch, const std::stop_token& stop) {
  Milliseconds hold{0};
  for (const auto& [action, tool] : parts_.policy.tools) hold = std::max(hold, tool.lease);
  auto due = parts_.journal.take_due(parts_.clock.civil(), hold, batch);
  if (!due) return tl::unexpected(due.error());
  ReconcilePass pass;
  for (const Operation& operation : *due) {
    if (stop.stop_requested()) break;  // what is left is due again when its hold has passed
    ++pass.checked;
    if (settle(operation)) ++pass.settled;
  }
  return pass;
}

// True: it is terminal or in review now.
bool Reconciler::settle(const Operation& operation) {
  const auto tool = parts_.policy.find_tool(operation.action_type);
  const auto provider = parts_.find_provider(operation.action_type);
  // Registered by a worker with another policy: that one settles it.
  if (!tool || !provider) return false;
  const Decision decision =
      parts_.protocol.on_due(operation, **tool, (*provider)->guarantees(), parts_.clock.civil());
  const bool kept = !operation.sealed_params.empty();
  // A success that is found has to be recorded with what follows it.
  const bool has_key = parts_.sealer != nullptr;
  if (!has_key && !(*tool)->follow_ups.empty()) return false;
  Turn turn(parts_, **tool, **provider);
  if (decision.what == Do::claim_and_call && kept) {
    return is_settled(turn.deliver(operation).operation);
  }
  if (decision.what != Do::verify) return is_settled(operation);
  Turn::Verified verified = turn.verify(operation);
  if (verified.decision.what == Do::claim_and_call) {
    if (kept) verified.recorded = turn.deliver(operation);
    if (!kept || verified.recorded.error_code == Turn::kKeyMissing) {
      verified.recorded = turn.leave_to_submit(operation);
    }
  }
  return is_settled(verified.recorded.operation);
}

void Reconciler::run(const std::stop_token& stop, Milliseconds interval) {
  while (!stop.stop_requested()) {
    // An unavailable journal is asked again after the interval, as if nothing had been due.
    static_cast<void>(run_once(kBatch, stop));
    if (!parts_.clock.wait_for(interval, stop)) return;
  }
}

}  // namespace onceproof
