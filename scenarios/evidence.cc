#include "scenarios/evidence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/text.h"

namespace onceproof::scenarios {
namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

bool same_value(const std::string& name, const Json& sent, const Json& wanted) {
  if (!sent.is_string() || !wanted.is_string()) return sent == wanted;
  const auto a = trimmed(sent.get<std::string>()), b = trimmed(wanted.get<std::string>());
  return name == "currency" ? upper(a) == upper(b) : a == b;
}

// Gives an effect to one of the intents that it may belong to, best evidence first.
class Attribution {
 public:
  explicit Attribution(std::vector<IntentEvidence*> group) : group_(std::move(group)) {}

  void give(std::vector<const fakes::Effect*> effects) {
    take(effects, [](const IntentEvidence& intent, const fakes::Effect& effect) {
      return std::ranges::any_of(intent.answers, [&](const Exchange* e) {
        return e->answer->status == "succeeded" && e->answer->external_id == effect.id;
      });
    });
    take(effects, [](const IntentEvidence& intent, const fakes::Effect& effect) {
      return carries(effect.params, intent.intent->params);
    });
    take(effects, [](const IntentEvidence&, const fakes::Effect&) { return true; });
    for (const auto* extra : effects) owner_of_extra(*extra).effects.push_back(extra);
  }

 private:
  // Each intent that has no effect yet takes the first one that fits.
  template <typename Fits>
  void take(std::vector<const fakes::Effect*>& effects, Fits&& fits) {
    std::erase_if(effects, [&](const fakes::Effect* effect) {
      for (auto* intent : group_) {
        if (!intent->effects.empty() || !fits(*intent, *effect)) continue;
        intent->effects.push_back(effect);
        return true;
      }
      return false;
    });
  }

  // More effects than intents: it doubles the one that it resembles most.
  IntentEvidence& owner_of_extra(const fakes::Effect& extra) {
    for (auto* intent : group_) {
      const auto& first = *intent->effects.front();
      const bool same_key = !extra.key.empty() && extra.key == first.key;
      const bool same_reference = !extra.reference.empty() && extra.reference == first.reference;
      if (same_key || same_reference) return *intent;
    }
    for (auto* intent : group_) {
      if (carries(extra.params, intent->intent->params)) return *intent;
    }
    return *group_.front();
  }

  std::vector<IntentEvidence*> group_;
};

}  // namespace

bool carries(const Json& sent, const Json& params) {
  if (!sent.is_object()) return false;
  for (const auto& [name, wanted] : params.items()) {
    const Json* value = find_member(sent, name);
    if (value == nullptr ? !wanted.is_null() : !same_value(name, *value, wanted)) return false;
  }
  return true;
}

bool is_final(const Exchange& exchange) {
  return exchange.answer &&
         (exchange.answer->status == "succeeded" || exchange.answer->status == "failed_final");
}

bool is_create(const fakes::WireEntry& entry) {
  return entry.route == "create";
}

Evidence::Evidence(const History& history) : history_(history) {
  gather_exchanges();
  gather_wire();
  attribute_effects();
}

void Evidence::gather_exchanges() {
  for (const auto& exchange : history_.exchanges) {
    if (exchange.kind == Exchange::Kind::reconcile) continue;
    const auto record = history_.intents.find(exchange.intent);
    if (record == history_.intents.end()) continue;
    auto& intent = intents_[exchange.intent];
    intent.intent = &record->second;
    if (exchange.changed) {
      intent.changed.push_back(&exchange);
      continue;
    }
    if (exchange.kind == Exchange::Kind::submit) {
      intent.submitted = true;
      intent.submits.push_back(&exchange);
    }
    if (exchange.answer) intent.answers.push_back(&exchange);
  }
  std::erase_if(intents_, [](const auto& entry) { return !entry.second.submitted; });
  for (auto& [name, intent] : intents_) {
    std::ranges::stable_sort(intent.answers, {}, [](const Exchange* e) { return *e->answered_at; });
    intent.looks_alike = std::ranges::any_of(intents_, [&, &mine = name,
                                                        &own = intent](const auto& other) {
      return other.first != mine && other.second.intent->business_ref == own.intent->business_ref;
    });
  }
}

void Evidence::gather_wire() {
  for (const auto& entry : history_.wire) {
    for (auto& [name, intent] : intents_) {
      if (entry.business_ref != intent.intent->business_ref) continue;
      if (is_create(entry)) {
        intent.creates.push_back(&entry);
      } else if (entry.route == "lookup" || entry.route == "get") {
        intent.lookups.push_back(&entry);
      }
    }
  }
}

void Evidence::attribute_effects() {
  std::set<std::string> done;
  for (auto& [name, intent] : intents_) {
    const auto& ref = intent.intent->business_ref;
    if (!done.insert(ref).second) continue;
    std::vector<IntentEvidence*> group;
    for (auto& [other_name, other] : intents_) {
      if (other.intent->business_ref == ref) group.push_back(&other);
    }
    std::vector<const fakes::Effect*> effects;
    for (const auto& effect : history_.effects) {
      if (effect.business_ref == ref) effects.push_back(&effect);
    }
    Attribution(std::move(group)).give(std::move(effects));
    for (auto& [other_name, other] : intents_) {
      std::ranges::sort(other.effects, {}, [](const auto* effect) { return effect->committed_at; });
    }
  }
}

std::string Evidence::at(MonotonicTime time) const {
  return fmt::format("{:.3f} s", std::chrono::duration<double>(time - history_.start).count());
}

std::string Evidence::describe(const fakes::WireEntry& entry) const {
  std::string text = fmt::format("request {} ({} {}", entry.number, entry.method,
                                 escape_terminal(shorten(entry.target, 80)));
  if (is_create(entry) && !entry.key.empty()) text += ", key " + escape_terminal(entry.key);
  if (is_create(entry) && entry.key.empty() && !entry.reference.empty()) {
    text += ", reference " + escape_terminal(entry.reference);
  }
  text += fmt::format(", at {}: {}", at(entry.received_at), fakes::to_text(entry.disposition));
  if (!entry.effect_ids.empty()) text += fmt::format(" {}", fmt::join(entry.effect_ids, ", "));
  if (!entry.fault.empty()) text += ", struck by " + escape_terminal(entry.fault);
  if (!entry.delivered) {
    text +=
        entry.status == 0 ? ", no reply" : fmt::format(", a {} instead of the reply", entry.status);
  }
  return text + ")";
}

}  // namespace onceproof::scenarios
