// For tests: one journal, one provider, one virtual clock, and workers on them.
// Times: call time-out 250 ms, lease 600, checks from 20 to 200, review after 2000, at most 3
// calls; max_in_flight 100, index_delay 50; a key is remembered for 5 s. So absence counts after
// 750 ms from the claim.
#pragma once

#include <memory>
#include <string>

#include "reference/executor.h"
#include "reference/ledger_provider.h"
#include "reference/memory_journal.h"
#include "reference/reconciler.h"
#include "reference/seam_journal.h"

namespace onceproof {

inline Guarantees blind_guarantees() {
  Guarantees promised;
  promised.max_in_flight = Milliseconds{100};
  return promised;
}
inline Guarantees searchable_guarantees() {
  Guarantees promised = blind_guarantees();
  promised.lookup = LookupGuarantee{LookupBy::reference, true, Milliseconds{50}};
  return promised;
}
inline Guarantees incomplete_guarantees() {
  Guarantees promised = searchable_guarantees();
  promised.lookup->complete = false;
  return promised;
}
inline Guarantees keyed_guarantees() {
  Guarantees promised = blind_guarantees();
  promised.key_dedup = KeyDedup{"Idempotency-Key", Milliseconds{5'000}};
  return promised;
}
inline Guarantees keyed_searchable_guarantees() {
  Guarantees promised = keyed_guarantees();
  promised.lookup = searchable_guarantees().lookup;
  return promised;
}

inline Policy world_policy() {
  ToolPolicy tool;
  tool.fields["amount_minor"] = {FieldRule::minor_units};
  tool.fields["currency"] = {FieldRule::currency};
  tool.fields["note"] = {FieldRule::absent_if_null};
  tool.fields["trace_id"] = {FieldRule::ignore};
  tool.result_fields = {"status"};
  tool.call_timeout = Milliseconds{250};
  tool.lease = Milliseconds{600};
  tool.unknown_after = Milliseconds{2'000};
  tool.check_initial = Milliseconds{20};
  tool.check_max = Milliseconds{200};
  tool.max_attempts = 3;
  Policy policy;
  policy.tools["create_payment"] = tool;
  return policy;
}

inline Intent payment_intent(std::string id = "order-817/intent-01") {
  Intent intent;
  intent.tenant = "t1";
  intent.intent_id = std::move(id);
  intent.action = "create_payment";
  intent.params = Json{{"order_id", "817"}, {"amount_minor", 490000}, {"currency", "RUB"}};
  return intent;
}

// A worker: an executor and a reconciler with a seam of their own to the journal that all share. To
// crash it, drop it.
class World;
class WorldWorker {
 public:
  WorldWorker(World& world, std::string name);
  SeamJournal journal;
  Executor executor;
  Reconciler reconciler;

  Answer submit(const Intent& intent = payment_intent()) { return executor.submit(intent).value(); }
  AnswerStatus status(const Intent& intent = payment_intent()) {
    return executor.status(intent.tenant, intent.action, intent.intent_id).value().status;
  }
  ReconcilePass reconcile() { return reconciler.run_once().value(); }
};

class World {
 public:
  explicit World(Guarantees promised) : provider(clock, promised), mailer(clock, promised) {}

  VirtualClock clock;
  MemoryJournal journal;
  SeededRandom random{1};
  Protocol protocol;
  Policy policy = world_policy();
  LedgerProvider provider;
  LedgerProvider mailer;  // of send_email, which no policy has unless a test adds it
  Sealer sealer = Sealer::from_text(std::string(64, 'a'), "test").value();

  std::unique_ptr<WorldWorker> start(std::string name) {
    return std::make_unique<WorldWorker>(*this, std::move(name));
  }
  ExecutorParts parts(Journal& seam, std::string name) {
    return {clock,           seam,   random,
            protocol,        policy, {{"create_payment", &provider}, {"send_email", &mailer}},
            std::move(name), &sealer};
  }
  void pass(int ms) { clock.advance(Milliseconds{ms}); }
  Operation operation(const Intent& intent = payment_intent()) {
    return journal.find(intent.tenant, intent.action, intent.intent_id).value().value();
  }
  std::size_t count_events(std::string_view reason) {
    std::size_t count = 0;
    const auto events = journal.events(operation().operation_key).value();
    for (const auto& event : events) {
      if (event.reason == reason) ++count;
    }
    return count;
  }
};

inline WorldWorker::WorldWorker(World& world, std::string name)
    : journal(world.journal),
      executor(world.parts(journal, name)),
      reconciler(world.parts(journal, name)) {}

}  // namespace onceproof
