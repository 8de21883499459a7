// A scenario: one story of what goes wrong, as a value. Read from YAML (scenario_file.h), made by
// property tests. docs/scenarios.md describes the file format; the schema is strict: unknown fields
// are errors with file:line:column.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "faults/fault.h"

namespace onceproof::scenarios {

struct IntentSpec {
  std::string tenant = "t1";
  std::string action;  // "create_payment"
  Json params;
  std::optional<std::string> operation_key;  // the caller's own key; absent: the executor makes one
  std::optional<std::string> intent_id;      // absent: "<scenario>/<name>"
};

// What a step may demand of the SUT's answer, beside the invariants, which always hold.
struct StepExpectation {
  std::vector<std::string>
      status;  // one of these; empty: any. "crashed": the worker died before it answered
  std::optional<int> calls;  // requests to create that reached the provider during the step
  std::vector<std::string>
      reference;  // statuses demanded of the reference (and mutants of it) only; empty: none
};

struct SubmitStep {
  std::string intent;
  std::string worker = "w1";
  Json changed_params;  // null, or an object merged over the intent's parameters: the same intent
                        // id, another payload
  StepExpectation expect;
};
struct ParallelStep {
  std::vector<SubmitStep> submits;
};  // all sent before any answer is awaited
struct ReconcileStep {
  std::string worker = "w1";
  bool until_settled = false;
};
struct StatusStep {
  std::string intent;
  std::string worker = "w1";
  StepExpectation expect;
};
struct WaitStep {
  Milliseconds duration;
};  // scaled with the cell's times
struct KillStep {
  std::string worker = "w1";
};  // SIGKILL now
struct RestartStep {
  std::string worker = "w1";
};  // starts a dead (or killed) worker on the same state_dir

using Step = std::variant<SubmitStep, ParallelStep, ReconcileStep, StatusStep, WaitStep, KillStep,
                          RestartStep>;

// What must be true at the end, for one profile or by default.
struct FinalExpectation {
  std::map<std::string, int> effects;  // intent -> number of effects
  std::map<std::string, std::vector<std::string>>
      final;  // intent -> one of: the five statuses or "review"
};

struct FaultSpec {
  faults::Fault fault;  // on.business_ref is filled from `intent` when it is armed
  std::optional<std::string> intent;
};

struct Scenario {
  std::string name;
  std::string title;
  std::string guide;                 // "step 7", for people; may be empty
  std::vector<std::string> reports;  // "R01": the field reports it comes from
  std::string control_of;  // name of the scenario that this one is the control of; may be empty
  std::string twin;  // same symptom for the client, opposite truth at the provider; may be empty
  std::vector<std::string> services;  // ["payments"]
  std::vector<std::string> profiles;
  int workers = 1;  // "w1".."wN", started before the first step
  std::map<std::string, IntentSpec> intents;
  std::vector<FaultSpec> faults;
  std::vector<Step> steps;
  FinalExpectation expect;  // default
  std::map<std::string, FinalExpectation>
      expect_for;    // by profile; replaces the default as a whole
  std::string file;  // where it was read; empty: made by code
};

}  // namespace onceproof::scenarios
