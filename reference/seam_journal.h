// For tests: a journal that stops before and after every call of another one, so that a test can
// crash there, let another worker go first, let time pass, or lose the call or its reply.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/journal.h"

namespace onceproof {

class SeamJournal final : public Journal {
 public:
  enum class When {
    before,
    after,  // an error from here: the call was done, its reply is lost
  };
  explicit SeamJournal(Journal& inner) : inner_(inner) {}

  // nullopt: go on. An error: the caller gets it. May throw: a crash.
  std::function<std::optional<Error>(std::string_view call, When when)> at;

  Result<Registered> register_operation(const Operation& operation,
                                        std::string_view actor) override {
    return pass<Registered>("register_operation",
                            [&] { return inner_.register_operation(operation, actor); });
  }
  Result<Registered> register_and_claim(const Operation& operation, std::string_view owner,
                                        CivilTime lease_until) override {
    return pass<Registered>("register_and_claim", [&] {
      return inner_.register_and_claim(operation, owner, lease_until);
    });
  }
  Result<Claim> claim(const ClaimRequest& request) override {
    return pass<Claim>("claim", [&] { return inner_.claim(request); });
  }
  Result<SuccessRecorded> mark_succeeded(std::string_view operation_key, std::int64_t attempt,
                                         const Success& success, CivilTime now,
                                         std::string_view actor) override {
    return pass<SuccessRecorded>("mark_succeeded", [&] {
      return inner_.mark_succeeded(operation_key, attempt, success, now, actor);
    });
  }
  Result<Operation> mark_failed_final(std::string_view operation_key, std::int64_t attempt,
                                      const Failure& failure, CivilTime now,
                                      std::string_view actor) override {
    return pass<Operation>("mark_failed_final", [&] {
      return inner_.mark_failed_final(operation_key, attempt, failure, now, actor);
    });
  }
  Result<Operation> mark_unknown(std::string_view operation_key, std::int64_t attempt,
                                 std::string_view error_code, CivilTime next_check_at,
                                 CivilTime now, std::string_view actor) override {
    return pass<Operation>("mark_unknown", [&] {
      return inner_.mark_unknown(operation_key, attempt, error_code, next_check_at, now, actor);
    });
  }
  Result<Operation> release_for_retry(std::string_view operation_key, std::int64_t attempt,
                                      std::string_view reason, std::optional<CivilTime> not_before,
                                      CivilTime now, std::string_view actor) override {
    return pass<Operation>("release_for_retry", [&] {
      return inner_.release_for_retry(operation_key, attempt, reason, not_before, now, actor);
    });
  }
  Result<Operation> escalate(std::string_view operation_key, std::int64_t attempt,
                             std::string_view reason, CivilTime now,
                             std::string_view actor) override {
    return pass<Operation>(
        "escalate", [&] { return inner_.escalate(operation_key, attempt, reason, now, actor); });
  }
  Result<Operation> resolve(std::string_view operation_key, const Resolution& resolution,
                            const std::vector<Operation>& follow_ups, CivilTime now) override {
    return pass<Operation>(
        "resolve", [&] { return inner_.resolve(operation_key, resolution, follow_ups, now); });
  }
  Result<Operation> load(std::string_view operation_key) override {
    return pass<Operation>("load", [&] { return inner_.load(operation_key); });
  }
  Result<std::optional<Operation>> find(std::string_view tenant, std::string_view action_type,
                                        std::string_view intent_id) override {
    return pass<std::optional<Operation>>(
        "find", [&] { return inner_.find(tenant, action_type, intent_id); });
  }
  Result<std::vector<Operation>> take_due(CivilTime now, Milliseconds hold,
                                          std::size_t limit) override {
    return pass<std::vector<Operation>>("take_due",
                                        [&] { return inner_.take_due(now, hold, limit); });
  }
  Result<std::vector<Operation>> list(const ListFilter& filter) override {
    return inner_.list(filter);
  }
  Result<std::vector<Operation>> children(std::string_view parent_key) override {
    return inner_.children(parent_key);
  }
  Result<std::vector<Event>> events(std::string_view operation_key) override {
    return inner_.events(operation_key);
  }

 private:
  template <typename T, typename Call>
  Result<T> pass(std::string_view name, Call&& call) {
    if (auto error = stop(name, When::before)) return tl::unexpected(*error);
    Result<T> result = call();
    if (auto error = stop(name, When::after)) return tl::unexpected(*error);
    return result;
  }

  std::optional<Error> stop(std::string_view name, When when) {
    const auto hook = at;  // a copy: it may replace itself
    return hook ? hook(name, when) : std::nullopt;
  }

  Journal& inner_;
};

}  // namespace onceproof
