#include "scenarios/mutants/mutants.h"

#include <fmt/format.h>

#include <array>

#include "reference/operation_key.h"

namespace onceproof::scenarios {
namespace {

// Sends a key of its own with every call, and asks for another one.
class NewKeyPerRetry final : public Provider {
 public:
  explicit NewKeyPerRetry(std::unique_ptr<Provider> inner) : inner_(std::move(inner)) {}
  CallOutcome call(const CallRequest& request) override {
    CallRequest changed = request;
    changed.operation_key = fresh_key();
    return inner_->call(changed);
  }
  LookupResult find(std::string_view action, std::string_view, Milliseconds timeout) override {
    return inner_->find(action, fresh_key(), timeout);
  }
  const Guarantees& guarantees() const override { return inner_->guarantees(); }

 private:
  std::string fresh_key() { return make_operation_key(clock_.civil(), random_); }

  std::unique_ptr<Provider> inner_;
  RealClock clock_;
  SystemRandom random_;
};

WorkerSeams new_key_per_retry() {
  WorkerSeams seams;
  seams.decorate_provider = [](std::unique_ptr<Provider> inner) -> std::unique_ptr<Provider> {
    return std::make_unique<NewKeyPerRetry>(std::move(inner));
  };
  return seams;
}

// Records every call without a clear answer as failed.
class TimeoutIsFailure final : public Protocol {
 public:
  Decision on_outcome(const Operation& operation, Status prior, const CallOutcome& outcome,
                      const ToolPolicy& policy, const Guarantees& guarantees, CivilTime now,
                      Random& jitter) const override {
    if (outcome.kind == OutcomeKind::ambiguous) {
      return {Do::record_failed_final, "ambiguous", {}};
    }
    return Protocol::on_outcome(operation, prior, outcome, policy, guarantees, now, jitter);
  }
};

WorkerSeams timeout_is_failure() {
  WorkerSeams seams;
  seams.protocol = std::make_shared<TimeoutIsFailure>();
  return seams;
}

constexpr std::array kMutants{
    Mutant{"new-key-per-retry", "makes a new operation key for every attempt", "one-effect",
           new_key_per_retry},
    Mutant{"timeout-is-failure", "takes a call without a clear answer for a failed one",
           "failure-is-real", timeout_is_failure},
};

}  // namespace

std::span<const Mutant> mutants() {
  return kMutants;
}

Result<const Mutant*> find_mutant(std::string_view name) {
  std::string known;
  for (const auto& mutant : mutants()) {
    if (mutant.name == name) return &mutant;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", mutant.name);
  }
  return fail(ErrorCode::not_found, fmt::format("no mutant '{}'; there are: {}", name, known));
}

}  // namespace onceproof::scenarios
