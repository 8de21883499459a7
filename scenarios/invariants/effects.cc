#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "scenarios/invariants/checks.h"

namespace onceproof::scenarios {
namespace {

std::string list_effects(const Evidence& evidence, const IntentEvidence& intent) {
  std::string text;
  for (const auto* effect : intent.effects) {
    text += fmt::format("{}{} at {} by request {}", text.empty() ? "" : ", ", effect->id,
                        evidence.at(effect->committed_at), effect->request);
    if (!effect->key.empty()) text += " with key " + escape_terminal(effect->key);
  }
  return text;
}

// Why there was a second effect, as far as the wire tells.
std::string explain_double(const IntentEvidence& intent) {
  const auto& first = *intent.effects[0];
  const auto& second = *intent.effects[1];
  if (!first.key.empty() && !second.key.empty() && first.key != second.key) {
    return "each attempt had a key of its own, so the provider could not know the repeat";
  }
  for (const auto* entry : intent.creates) {
    if (entry->number == first.request && !entry->delivered) {
      return "the reply to the first was lost, and it was called again as if it had failed";
    }
  }
  return "it was called again although the first call had committed";
}

}  // namespace

Violations check_one_effect(const Evidence& evidence) {
  Violations found;
  for (const auto& [name, intent] : evidence.intents()) {
    if (intent.effects.size() < 2) continue;
    Violation violation;
    violation.intent = name;
    violation.observed = fmt::format("{} effects of one intent: {}", intent.effects.size(),
                                     list_effects(evidence, intent));
    violation.inferred = explain_double(intent);
    for (const auto* effect : intent.effects) violation.requests.push_back(effect->request);
    found.push_back(std::move(violation));
  }
  return found;
}

Violations check_effect_matches(const Evidence& evidence) {
  Violations found;
  for (const auto& [name, intent] : evidence.intents()) {
    for (const auto* effect : intent.effects) {
      if (carries(effect->params, intent.intent->params)) continue;
      Violation violation;
      violation.intent = name;
      violation.observed =
          fmt::format("effect {} has {}, but the intent is {}", effect->id,
                      escape_terminal(shorten(to_line(effect->params), 300)),
                      escape_terminal(shorten(to_line(intent.intent->params), 300)));
      violation.inferred =
          "the parameters were changed on their way, or a repeat with other "
          "parameters was let through";
      violation.requests = {effect->request};
      found.push_back(std::move(violation));
    }
  }
  return found;
}

Violations check_distinct_intents(const Evidence& evidence) {
  Violations found;
  std::map<std::string, std::string> owners;  // external id -> intent
  for (const auto& [name, intent] : evidence.intents()) {
    for (const auto* exchange : intent.answers) {
      const auto& answer = *exchange->answer;
      if (answer.status != "succeeded" || answer.external_id.empty()) continue;
      const auto [owner, fresh] = owners.emplace(answer.external_id, name);
      if (fresh || owner->second == name) continue;
      Violation violation;
      violation.intent = name;
      violation.observed =
          fmt::format("intents {} and {} were both answered with the one effect {}", owner->second,
                      name, escape_terminal(shorten(answer.external_id, 80)));
      violation.inferred =
          "two decisions that look alike were taken for one: the key is made of "
          "the text, or too coarse";
      found.push_back(std::move(violation));
      break;
    }
  }
  return found;
}

}  // namespace onceproof::scenarios
