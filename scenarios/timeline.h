// A cell's history as one list of events in order of time, for people: who did what to whom.
// Polls without news are left out; what was struck by a fault is marked.
#pragma once

#include <string>
#include <vector>

#include "scenarios/history.h"

namespace onceproof::scenarios {

enum class Lane { agent, executor, provider, ledger, fault, process, runner };

struct TimelineEvent {
  MonotonicTime at;
  Lane lane = Lane::runner;
  std::string text;           // safe to print
  std::uint64_t request = 0;  // of the wire log; 0: none
};

std::string_view to_text(Lane lane);
std::vector<TimelineEvent> make_timeline(const History& history);
// "  0.301 s  fault     fault-1: hang (after_commit, request 1)"
std::string to_text(const TimelineEvent& event, MonotonicTime start);

}  // namespace onceproof::scenarios
