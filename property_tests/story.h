// Random stories for the real thing: intents, faults and steps as one value, so that RapidCheck
// shrinks all of them together. Invariant: every story is a valid scenario; whatever its faults do,
// a right executor ends each intent with one effect (at a blind provider: at most one).
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace onceproof::property_tests {

// One step, as three small numbers: shrinks towards a plain submit of intent A on w1.
struct Move {
  enum class Kind : std::uint8_t { submit, reconcile, changed, both, kill, restart };
  Kind kind = Kind::submit;
  bool second_intent = false;
  bool second_worker = false;
};

// One fault: shrinks towards "close before the commit, on the first create of A".
struct Strike {
  bool after_commit = false;
  std::uint8_t action = 0;  // close, reset, hang, 502, kill
  bool second_intent = false;
  std::uint8_t nth = 1;
};

struct Story {
  bool look_alike = false;  // B has the parameters of A
  std::vector<Strike> strikes;
  std::vector<Move> moves;
};

inline constexpr int kStrikeActions = 5;
inline constexpr int kMoveKinds = 6;

scenarios::Scenario to_scenario(const Story& story, const std::string& profile);
// A few lines for people: what the story does, in order.
std::string describe(const Story& story);
rc::Gen<Story> arbitrary_story();

}  // namespace onceproof::property_tests
