#include "property_tests/story.h"

#include <fmt/format.h>

#include <array>

namespace onceproof::property_tests {
namespace {

using scenarios::Scenario;

constexpr std::array kActionNames{"close", "reset", "hang", "502", "kill"};
constexpr std::array kMoveNames{"submit", "reconcile", "submit changed", "submit on both workers",
                                "kill",   "restart"};

const char* intent_name(bool second) {
  return second ? "B" : "A";
}
const char* worker_name(bool second) {
  return second ? "w2" : "w1";
}

faults::Action to_action(std::uint8_t index) {
  switch (index) {
    case 1:
      return {.kind = faults::ActionKind::reset};
    case 2:
      return {.kind = faults::ActionKind::hang};
    case 3:
      return {.kind = faults::ActionKind::status,
              .status = 502,
              .body = "<html>bad gateway</html>",
              .content_type = "text/html"};
    case 4:
      return {.kind = faults::ActionKind::kill};
    default:
      return {.kind = faults::ActionKind::close};
  }
}

scenarios::FaultSpec to_fault(const Strike& strike, std::size_t index) {
  scenarios::FaultSpec spec;
  spec.intent = intent_name(strike.second_intent);
  spec.fault.name = fmt::format("strike-{}", index + 1);
  spec.fault.at =
      strike.after_commit ? faults::Point::after_commit : faults::Point::request_received;
  spec.fault.on.route = "create";
  spec.fault.on.nth = strike.nth;
  spec.fault.action = to_action(strike.action);
  spec.fault.optional = true;  // a short story may never reach its nth call
  return spec;
}

scenarios::SubmitStep to_submit(const Move& move) {
  scenarios::SubmitStep step;
  step.intent = intent_name(move.second_intent);
  step.worker = worker_name(move.second_worker);
  if (move.kind == Move::Kind::changed) step.changed_params = Json{{"amount_minor", 490001}};
  return step;
}

void add_steps(const Move& move, std::vector<scenarios::Step>& steps) {
  const std::string worker = worker_name(move.second_worker);
  switch (move.kind) {
    case Move::Kind::kill:
      steps.push_back(scenarios::KillStep{worker});
      return;
    case Move::Kind::restart:
      steps.push_back(scenarios::RestartStep{worker});
      return;
    case Move::Kind::reconcile:
      steps.push_back(scenarios::RestartStep{worker});  // no effect on a live worker
      steps.push_back(scenarios::ReconcileStep{worker, false});
      return;
    case Move::Kind::both: {
      Move other = move;
      other.second_worker = !move.second_worker;
      steps.push_back(scenarios::RestartStep{"w1"});
      steps.push_back(scenarios::RestartStep{"w2"});
      steps.push_back(scenarios::ParallelStep{{to_submit(move), to_submit(other)}});
      return;
    }
    case Move::Kind::submit:
    case Move::Kind::changed:
      steps.push_back(scenarios::RestartStep{worker});
      steps.push_back(to_submit(move));
      return;
  }
}

// The intents that the story submits unchanged before it changes them. Others are left out: to
// change what was never registered is to register it.
std::array<bool, 2> registered(const Story& story) {
  std::array<bool, 2> seen{};
  for (const auto& move : story.moves) {
    if (move.kind == Move::Kind::submit || move.kind == Move::Kind::both)
      seen[move.second_intent] = true;
  }
  return seen;
}

}  // namespace

scenarios::Scenario to_scenario(const Story& story, const std::string& profile) {
  Scenario scenario;
  scenario.name = "random-story";
  scenario.title = "A random sequence of submits, lost replies, kills and changes";
  scenario.services = {"payments"};
  scenario.profiles = {profile};
  scenario.workers = 2;
  const Json params{{"order_id", "817"}, {"amount_minor", 490000}, {"currency", "RUB"}};
  scenario.intents["A"] = {.action = "create_payment", .params = params};
  scenario.intents["B"] = {.action = "create_payment", .params = params};
  if (!story.look_alike) scenario.intents["B"].params["order_id"] = "818";
  for (std::size_t i = 0; i < story.strikes.size(); ++i) {
    scenario.faults.push_back(to_fault(story.strikes[i], i));
  }
  std::array<bool, 2> known{};
  for (const auto& move : story.moves) {
    if (move.kind == Move::Kind::submit || move.kind == Move::Kind::both) {
      known[move.second_intent] = true;
    } else if (move.kind == Move::Kind::changed && !known[move.second_intent]) {
      continue;
    }
    add_steps(move, scenario.steps);
  }
  const auto submitted = registered(story);
  for (const bool second : {false, true}) {
    if (!submitted[second]) {
      scenario.intents.erase(intent_name(second));
      std::erase_if(scenario.faults,
                    [&](const auto& f) { return f.intent == intent_name(second); });
    }
  }
  for (const auto& [name, intent] : scenario.intents) {
    if (profile == "blind") {
      scenario.expect.final[name] = {"succeeded", "review"};
    } else {
      scenario.expect.final[name] = {"succeeded"};
      scenario.expect.effects[name] = 1;
    }
  }
  return scenario;
}

std::string describe(const Story& story) {
  std::string text = story.look_alike ? "B looks like A\n" : "";
  for (const auto& strike : story.strikes) {
    text += fmt::format("fault: {} {} on create {} of {}\n",
                        kActionNames[strike.action % kActionNames.size()],
                        strike.after_commit ? "after the commit" : "before the commit", strike.nth,
                        intent_name(strike.second_intent));
  }
  for (const auto& move : story.moves) {
    text += fmt::format("{} {} on {}\n", kMoveNames[static_cast<std::size_t>(move.kind)],
                        intent_name(move.second_intent), worker_name(move.second_worker));
  }
  return text;
}

rc::Gen<Story> arbitrary_story() {
  const auto move = rc::gen::build<Move>(
      rc::gen::set(&Move::kind,
                   rc::gen::map(rc::gen::weightedElement<int>(
                                    {{6, 0}, {3, 1}, {2, 2}, {2, 3}, {1, 4}, {1, 5}}),
                                [](int kind) { return static_cast<Move::Kind>(kind); })),
      rc::gen::set(&Move::second_intent), rc::gen::set(&Move::second_worker));
  const auto strike = rc::gen::build<Strike>(
      rc::gen::set(&Strike::after_commit),
      rc::gen::set(&Strike::action, rc::gen::inRange<std::uint8_t>(0, kStrikeActions)),
      rc::gen::set(&Strike::second_intent),
      rc::gen::set(&Strike::nth, rc::gen::inRange<std::uint8_t>(1, 4)));
  // Three strikes and eight moves keep a story at about a second.
  return rc::gen::build<Story>(
      rc::gen::set(&Story::look_alike),
      rc::gen::set(&Story::strikes,
                   rc::gen::mapcat(rc::gen::inRange(0, 4),
                                   [=](int n) {
                                     return rc::gen::container<std::vector<Strike>>(
                                         static_cast<std::size_t>(n), strike);
                                   })),
      rc::gen::set(&Story::moves, rc::gen::mapcat(rc::gen::inRange(1, 9), [=](int n) {
        return rc::gen::container<std::vector<Move>>(static_cast<std::size_t>(n), move);
      })));
}

}  // namespace onceproof::property_tests
