// All that was observed in one cell, in the observers' own words: what the judge judges and the
// reports tell. Facts: effects and wire (from the fake), processes (from the kernel). Claims:
// answers (from the SUT). All times are of one monotonic clock.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "fakes/ledger.h"
#include "fakes/profile.h"
#include "fakes/wire_log.h"
#include "faults/engine.h"
#include "scenarios/scenario.h"
#include "scenarios/times.h"

namespace onceproof::scenarios {

// An intent as it was really sent (the runner fills in what the scenario leaves open).
struct IntentRecord {
  std::string name;  // "A"
  std::string tenant;
  std::string intent_id;
  std::string action;
  Json params;
  std::string
      business_ref;  // by which effects are attributed; two intents may share one (they look alike)
};

struct Answer {
  std::string status;  // the five, or conflict, verification_required, review
  std::string external_id;
  Json result;
  std::string error_code;
  Json raw;  // the whole message
};

// One submit, reconcile or status request to the SUT and what came back.
struct Exchange {
  enum class Kind { submit, status, reconcile };
  Kind kind = Kind::submit;
  std::size_t step =
      0;  // index in the scenario's steps; steps.size() and beyond: the runner's closing phase
  std::string worker;
  std::string intent;    // submit, status
  bool changed = false;  // submit with other parameters than the intent's
  Json params;           // submit: as sent
  MonotonicTime sent_at;
  std::optional<MonotonicTime> answered_at;  // absent: the worker died first, or never answered
  std::optional<Answer> answer;              // submit, status
  int checked = 0, settled = 0;              // reconcile
};

struct ProcessEvent {
  enum class Kind { started, killed, exited };
  Kind kind = Kind::started;
  std::string worker;
  MonotonicTime at;
  std::string detail;  // "pid 4711", "SIGKILL by fault-1 at after_commit", "exit code 3"
};

struct Mark {  // heal, step borders: for the timeline
  std::string text;
  MonotonicTime at;
};

struct History {
  Scenario scenario;
  std::string service;
  std::string profile;
  fakes::Profile provider;  // what the fake guaranteed, with the times of this cell
  CellTimes times;
  bool reference_sut =
      false;  // the reference or a mutant of it: step expectations under `reference` count
  MonotonicTime start;
  std::map<std::string, IntentRecord> intents;
  std::vector<Exchange> exchanges;  // in order of sending
  std::vector<ProcessEvent> processes;
  std::vector<Mark> marks;
  std::vector<fakes::WireEntry> wire;
  std::vector<fakes::Effect> effects;
  std::vector<faults::FaultRecord> faults;
  std::vector<std::string> capabilities;  // what the SUT said it can
  std::optional<std::string>
      sut_failure;  // it broke the protocol, hung or exited unasked: the cell is inconclusive
  std::string stderr_tail;
};

}  // namespace onceproof::scenarios
