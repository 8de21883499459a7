// For tests: a provider in memory, with a ledger, whose promises are given and kept. The fakes over
// HTTP are not for here: the judge shares no code with the accused. Invariant: an effect is a row
// of `effects`; whatever the client hears, the rows are the truth. One thread.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "reference/provider.h"

namespace onceproof {

class LedgerProvider final : public Provider {
 public:
  enum class Reply {
    given,               // the true answer
    lost_after_commit,   // the effect exists, the client times out
    lost_before_commit,  // no effect, the client times out
  };
  struct Effect {
    std::string id;
    std::string key;
    Json params;
    CivilTime at;
  };

  LedgerProvider(VirtualClock& clock, Guarantees promised)
      : clock_(clock), guarantees_(std::move(promised)) {}

  // What becomes of the next calls, one each; then `given`.
  std::vector<Reply> replies;
  // Instead of all that, if set.
  std::function<CallOutcome(const CallRequest&)> on_call;
  std::function<LookupResult()> on_find;
  // Called on the way: "call", "committed", "find". May throw: a crash.
  std::function<void(std::string_view)> at;

  std::vector<Effect> effects;
  std::vector<CallRequest> calls;
  int finds = 0;

  CallOutcome call(const CallRequest& request) override {
    calls.push_back(request);
    pass("call");
    if (const auto answer = on_call) return answer(request);
    Reply reply = Reply::given;
    if (!replies.empty()) {
      reply = replies.front();
      replies.erase(replies.begin());
    }
    if (reply == Reply::lost_before_commit) return lost(request);
    const Effect effect = commit(request);
    pass("committed");
    if (reply == Reply::lost_after_commit) return lost(request);
    CallOutcome outcome;
    outcome.kind = OutcomeKind::confirmed;
    outcome.external_id = effect.id;
    outcome.result = Json{{"id", effect.id}, {"status", "succeeded"}, {"card", "4242424242424242"}};
    return outcome;
  }

  LookupResult find(std::string_view, std::string_view operation_key, Milliseconds) override {
    ++finds;
    pass("find");
    if (const auto answer = on_find) return answer();
    LookupResult result;
    if (!guarantees_.lookup) {
      result.kind = LookupKind::unsupported;
      return result;
    }
    result.kind = LookupKind::not_found;
    for (const auto& effect : effects) {
      const bool visible = effect.at + guarantees_.lookup->index_delay <= clock_.civil();
      if (effect.key != operation_key || !visible) continue;
      result.kind = LookupKind::found;
      result.external_id = effect.id;
      result.result = Json{{"id", effect.id}, {"status", "succeeded"}};
      break;
    }
    return result;
  }

  const Guarantees& guarantees() const override { return guarantees_; }

 private:
  void pass(std::string_view point) {
    if (const auto hook = at) hook(point);  // a copy: it may replace itself
  }

  Effect commit(const CallRequest& request) {
    for (const auto& effect : effects) {
      const bool known = guarantees_.key_dedup && effect.key == request.operation_key &&
                         clock_.civil() < effect.at + guarantees_.key_dedup->window;
      if (known) return effect;
    }
    effects.push_back({fmt::format("pay_{}", effects.size() + 1), request.operation_key,
                       request.params, clock_.civil()});
    return effects.back();
  }

  CallOutcome lost(const CallRequest& request) {
    clock_.advance(request.timeout);
    CallOutcome outcome;
    outcome.error_code = "timeout";
    return outcome;
  }

  VirtualClock& clock_;
  Guarantees guarantees_;
};

}  // namespace onceproof
