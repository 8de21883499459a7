// Runs cells: one scenario x service x profile x SUT x seed each, several at once, and judges them.
// Invariant: when run_cells returns, no process, connection, thread or temporary file of a cell is
// left, whatever the SUT did.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "scenarios/history.h"
#include "scenarios/scenario.h"
#include "scenarios/suts/sut.h"
#include "scenarios/verdict.h"

namespace onceproof::scenarios {

struct Cell {
  const Scenario* scenario = nullptr;
  std::string service;
  std::string profile;
  std::uint64_t seed = 1;

  // "payments/guide-lost-response/keyed"
  std::string id() const;
};

struct CellResult {
  std::string id;
  std::string scenario, service, profile;
  std::uint64_t seed = 1;
  Verdict verdict;
  History history;
  Milliseconds duration{0};
  // Runs thrown away because the machine stalled for longer than the cell's times allow; each entry
  // says how long.
  std::vector<std::string> disturbed;
};

struct RunOptions {
  SutSpec sut;
  std::uint64_t seed = 1;
  int jobs = 8;
  Milliseconds cell_timeout{30'000};  // then the cell is inconclusive
  bool fail_fast = false;
  std::filesystem::path work_dir;  // state_dirs and ledgers are made here, one folder a cell
};

// scenario x its services x its profiles, filtered by globs over ids (empty: all). Order: as given.
std::vector<Cell> make_cells(const std::vector<Scenario>& scenarios,
                             const std::vector<std::string>& globs, std::uint64_t seed);

// One cell, in this thread. Errors: sut_failed (the command cannot be started at all), io_failed; a
// SUT that starts and misbehaves is a verdict, not an error.
Result<CellResult> run_cell(const Cell& cell, const RunOptions& options, Clock& clock,
                            std::stop_token stop = {});

// All cells on options.jobs threads; `done` is called once a cell, from one thread at a time, in
// order of completion. Results are in the order of `cells`; cells that a stop or fail_fast left out
// are missing. Errors: as run_cell, of the first cell that had one; interrupted if `stop` was
// requested.
Result<std::vector<CellResult>> run_cells(const std::vector<Cell>& cells, const RunOptions& options,
                                          Clock& clock, std::stop_token stop,
                                          const std::function<void(const CellResult&)>& done);

}  // namespace onceproof::scenarios
