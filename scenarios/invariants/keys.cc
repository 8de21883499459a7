#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "scenarios/invariants/checks.h"

namespace onceproof::scenarios {
namespace {

std::string in_quotes(const std::string& text) {
  return "'" + escape_terminal(shorten(text, 100)) + "'";
}

// Where the key travels at this provider: its header if it deduplicates by it, else the reference
// field, by which effects are found again.
std::string key_of(const fakes::WireEntry& entry, const fakes::Profile& provider) {
  if (provider.key_dedup || entry.reference.empty()) return entry.key;
  return entry.reference;
}

// A call that carries what only a changed submit has asked for.
const fakes::WireEntry* find_changed_call(const Evidence& evidence, const Exchange& changed) {
  for (const auto& entry : evidence.history().wire) {
    if (!is_create(entry) || !carries(entry.params, changed.params)) continue;
    const bool somebody_s = std::ranges::any_of(evidence.intents(), [&](const auto& other) {
      return carries(entry.params, other.second.intent->params);
    });
    if (!somebody_s) return &entry;
  }
  return nullptr;
}

}  // namespace

Violations check_conflict_before_call(const Evidence& evidence) {
  Violations found;
  for (const auto& [name, intent] : evidence.intents()) {
    for (const auto* exchange : intent.changed) {
      Violation violation;
      violation.intent = name;
      if (const auto* call = find_changed_call(evidence, *exchange)) {
        violation.observed =
            "the changed parameters reached the provider: " + evidence.describe(*call);
        violation.inferred = "the request hash is not compared before the call";
        violation.requests = {call->number};
      } else if (exchange->answer && exchange->answer->status != "conflict") {
        violation.observed =
            fmt::format("{} answered {} at {} to other parameters ({})", exchange->worker,
                        exchange->answer->status, evidence.at(*exchange->answered_at),
                        escape_terminal(shorten(to_line(exchange->params), 200)));
        violation.inferred =
            "the request hash is not compared, or only some of the fields are in it";
      } else {
        continue;
      }
      found.push_back(std::move(violation));
      break;
    }
  }
  return found;
}

Violations check_stable_key(const Evidence& evidence) {
  Violations found;
  const auto& provider = evidence.history().provider;
  std::map<std::string, std::pair<std::string, std::string>> owners;  // key -> intent, business ref
  for (const auto& [name, intent] : evidence.intents()) {
    std::vector<std::string> keys;
    Violation violation;
    violation.intent = name;
    for (const auto* entry : intent.creates) {
      const auto key = key_of(*entry, provider);
      if (key.empty()) continue;
      const auto [owner, fresh] = owners.emplace(key, std::pair(name, intent.intent->business_ref));
      if (!fresh && owner->second.second != intent.intent->business_ref) {
        violation.observed = fmt::format("intents {} and {} were sent with the one key {}",
                                         owner->second.first, name, in_quotes(key));
        violation.inferred = "different intents share a key, so one can swallow the other";
        violation.requests = {entry->number};
        found.push_back(violation);
        break;
      }
      if (std::ranges::find(keys, key) == keys.end()) {
        keys.push_back(key);
        violation.requests.push_back(entry->number);
      }
    }
    // Intents that look alike share their calls: there may be as many keys as there are of them.
    const auto alike =
        std::ranges::count_if(evidence.intents(), [&own = intent](const auto& other) {
          return other.second.intent->business_ref == own.intent->business_ref;
        });
    if (keys.size() <= static_cast<std::size_t>(alike)) continue;
    violation.observed = fmt::format(
        "{} keys for {}: {} in request {}, {} in request {}", keys.size(),
        alike == 1 ? "one intent" : fmt::format("{} intents", alike), in_quotes(keys[0]),
        violation.requests[0], in_quotes(keys[1]), violation.requests[1]);
    violation.inferred =
        "a retry makes a key of its own, so the provider takes it for a new request";
    found.push_back(std::move(violation));
  }
  return found;
}

}  // namespace onceproof::scenarios
