#include "scenarios/run.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/digest.h"
#include "base/guarded.h"
#include "scenarios/cell_run.h"
#include "scenarios/judge.h"
#include "scenarios/stalls.h"
#include "scenarios/suts/process.h"

namespace onceproof::scenarios {
namespace {

constexpr int kMaxDisturbed = 3;  // runs of a cell that may be thrown away

CellResult make_result(const Cell& cell) {
  CellResult result;
  result.id = cell.id();
  result.scenario = cell.scenario->name;
  result.service = cell.service;
  result.profile = cell.profile;
  result.seed = cell.seed;
  return result;
}

std::string folder_name(const Cell& cell) {
  std::string name = cell.id();
  std::ranges::replace(name, '/', '.');
  return name;
}

// A fresh folder for one run of a cell, also when another cell of the same id is running. Removed
// whatever happens: ledgers, journals, everything a SUT left there.
class CellFolder {
 public:
  CellFolder(const std::filesystem::path& parent, const std::string& name) : path_(parent / name) {
    std::error_code ec;  // if it cannot be made, the stage says so
    std::filesystem::create_directories(parent, ec);
    for (int i = 2; !std::filesystem::create_directory(path_, ec) && !ec; ++i) {
      path_ = parent / fmt::format("{}-{}", name, i);
    }
  }
  ~CellFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Verdict judge_played(const Played& played) {
  if (played.unsupported.empty()) return judge(played.history);
  return {.kind = VerdictKind::unsupported, .reason = played.unsupported, .violations = {}};
}

// What was too slow for this cell's times; empty: nothing.
std::string disturbance(const Played& played, Milliseconds stall) {
  const auto tolerable = played.history.times.tolerable_stall();
  if (stall > tolerable) {
    return fmt::format("the machine stalled for {}; this cell tolerates {}", to_text(stall),
                       to_text(tolerable));
  }
  if (played.slowest_service > tolerable) {
    return fmt::format(
        "the fake itself took {} for a request without a fault; this cell tolerates {}",
        to_text(played.slowest_service), to_text(tolerable));
  }
  return {};
}

Result<CellResult> run_watched(const Cell& cell, const RunOptions& options, StallWatch& stalls,
                               Clock& clock, std::stop_token stop) {
  CellResult result = make_result(cell);
  const auto begun = clock.monotonic();
  double scale = 1.0;
  for (int run = 0; run <= kMaxDisturbed; ++run, scale *= 2.0) {
    const CellFolder folder(options.work_dir, fmt::format("{}.{}", folder_name(cell), run));
    const auto start = clock.monotonic();
    auto cell_run = CellRun::make(cell, options, scale, folder.path(), clock, stop);
    if (!cell_run) return tl::unexpected(cell_run.error());
    auto played = (*cell_run)->play();
    if (!played) return tl::unexpected(played.error());
    const auto why = disturbance(*played, stalls.longest_since(start));
    result.verdict = judge_played(*played);
    result.history = std::move(played->history);
    result.duration = std::chrono::duration_cast<Milliseconds>(clock.monotonic() - begun);
    // A pass on a disturbed machine is a pass: a stall makes a right executor look wrong, not a
    // wrong one right.
    if (why.empty() || result.verdict.kind == VerdictKind::pass ||
        result.verdict.kind == VerdictKind::unsupported) {
      return result;
    }
    result.disturbed.push_back(why);
  }
  result.verdict = {.kind = VerdictKind::inconclusive,
                    .reason = "the machine was too busy to judge: " + result.disturbed.back() +
                              "; run fewer --jobs at one time",
                    .violations = {}};
  return result;
}

}  // namespace

std::string Cell::id() const {
  return fmt::format("{}/{}/{}", service, scenario->name, profile);
}

std::vector<Cell> make_cells(const std::vector<Scenario>& scenarios,
                             const std::vector<std::string>& globs, std::uint64_t seed) {
  std::vector<Cell> cells;
  for (const auto& scenario : scenarios) {
    for (const auto& service : scenario.services) {
      for (const auto& profile : scenario.profiles) {
        Cell cell{&scenario, service, profile, seed};
        const auto id = cell.id();
        // The cell's own seed depends on its name, not on its place: a filter does not change it.
        cell.seed =
            std::stoull(sha256_hex(fmt::format("{} {}", seed, id)).substr(0, 15), nullptr, 16);
        const bool wanted = std::ranges::any_of(globs, [&](const std::string& glob) {
          return ::fnmatch(glob.c_str(), id.c_str(), 0) == 0;
        });
        if (globs.empty() || wanted) cells.push_back(cell);
      }
    }
  }
  return cells;
}

Result<CellResult> run_cell(const Cell& cell, const RunOptions& options, Clock& clock,
                            std::stop_token stop) {
  StallWatch stalls(clock);
  return run_watched(cell, options, stalls, clock, std::move(stop));
}

Result<std::vector<CellResult>> run_cells(const std::vector<Cell>& cells, const RunOptions& options,
                                          Clock& clock, std::stop_token stop,
                                          const std::function<void(const CellResult&)>& done) {
  const OrphanGuard orphans;
  StallWatch stalls(clock);
  std::stop_source enough;
  const std::stop_callback outer(stop, [&] { enough.request_stop(); });
  std::vector<std::optional<CellResult>> results(cells.size());
  std::atomic<std::size_t> next{0};
  Guarded<std::optional<Error>> error;
  std::mutex reporting;
  const auto work = [&] {
    for (;;) {
      const std::size_t i = next++;
      if (i >= cells.size() || enough.stop_requested()) return;
      auto result = run_watched(cells[i], options, stalls, clock, enough.get_token());
      if (!result) {
        auto first = error.lock();
        if (!*first &&
            !(enough.stop_requested() && result.error().code == ErrorCode::interrupted)) {
          *first = result.error();
        }
        enough.request_stop();
        return;
      }
      const std::scoped_lock lock(reporting);
      done(*result);
      if (options.fail_fast && result->verdict.kind == VerdictKind::violated) enough.request_stop();
      results[i] = std::move(*result);
    }
  };
  {
    std::vector<std::jthread> threads;
    const auto count = std::min<std::size_t>(static_cast<std::size_t>(options.jobs), cells.size());
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back(work);
  }
  if (*error.lock()) return tl::unexpected(**error.lock());
  if (stop.stop_requested()) return fail(ErrorCode::interrupted, "stopped before the run ended");
  std::vector<CellResult> finished;
  for (auto& result : results) {
    if (result) finished.push_back(std::move(*result));
  }
  return finished;
}

}  // namespace onceproof::scenarios
