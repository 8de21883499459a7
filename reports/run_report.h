// One run as the reports tell it: who was tested, with what, and every cell's result. Plain data;
// each report format is one pure function of it.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "scenarios/run.h"

namespace onceproof::reports {

struct RunReport {
  std::string version;   // of onceproof
  std::string command;   // how the user calls us: "onceproof", "./dev"
  std::string sut;       // "reference", "my-executor"
  std::string mutant;    // empty: none
  std::string manifest;  // path, as given; empty: none
  std::uint64_t seed = 1;
  CivilTime started_at;
  Milliseconds duration{0};
  bool interrupted = false;  // not all of the cells were run
  std::vector<scenarios::CellResult> cells;
};

struct Summary {
  int cells = 0, passed = 0, violated = 0, inconclusive = 0, unsupported = 0;
};
Summary summarise(const RunReport& report);

// The one command that runs this cell again: "onceproof run two-workers --filter
// 'payments/two-workers/keyed' --seed 1". Every word is quoted for a shell where it must be.
std::string reproduce_line(const RunReport& report, const scenarios::CellResult& cell);

}  // namespace onceproof::reports
