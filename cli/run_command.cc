#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/watchdog.h"
#include "reports/console.h"
#include "reports/json.h"
#include "reports/junit.h"
#include "reports/report_folder.h"
#include "scenarios/catalogue.h"
#include "scenarios/mutants/mutants.h"
#include "scenarios/run.h"
#include "scenarios/scenario_file.h"
#include "scenarios/suts/manifest.h"

namespace onceproof::cli {
namespace {

using scenarios::Scenario;

bool is_file(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.find('/') != std::string::npos;
}

Result<Scenario> choose_scenario(const std::string& name, const std::vector<Scenario>& catalogue) {
  if (is_file(name)) return scenarios::load_scenario(name);
  const auto found = std::ranges::find(catalogue, name, &Scenario::name);
  if (found != catalogue.end()) return *found;
  return fail(ErrorCode::not_found,
              fmt::format("no scenario '{}' in the catalogue; see onceproof list, or give a path "
                          "that ends in .yaml",
                          name));
}

bool same_source(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return a == b || (is_file(a) && is_file(b) && std::filesystem::equivalent(a, b, ignored));
}

// What is named twice is run once; two stories of one name would be one line in every report.
Result<std::vector<Scenario>> choose_scenarios(const RunArgs& args) {
  auto catalogue = scenarios::load_catalogue();
  if (!catalogue || args.scenarios.empty()) return catalogue;
  std::vector<Scenario> chosen;
  std::vector<std::string> sources;
  for (const auto& name : args.scenarios) {
    if (std::ranges::any_of(sources, [&](const auto& one) { return same_source(one, name); })) {
      continue;
    }
    auto scenario = choose_scenario(name, *catalogue);
    if (!scenario) return tl::unexpected(scenario.error());
    const auto taken = std::ranges::find(chosen, scenario->name, &Scenario::name);
    if (taken != chosen.end()) {
      return fail(ErrorCode::already_exists,
                  fmt::format("{} and {} are both called '{}'; rename one, or run them one by one",
                              sources[static_cast<std::size_t>(taken - chosen.begin())], name,
                              scenario->name));
    }
    chosen.push_back(std::move(*scenario));
    sources.push_back(name);
  }
  return chosen;
}

// Before anything is run: could the files be written, and is each one's content its own?
Result<void> check_outputs(const RunArgs& args) {
  std::vector<std::filesystem::path> targets;
  for (const auto& file : {args.json, args.junit}) {
    if (!file) continue;
    const auto target = find_write_target(*file);
    if (!target) return tl::unexpected(target.error());
    std::error_code ec;
    if (std::filesystem::is_other(*target, ec)) continue;  // /dev/null takes both
    targets.push_back(std::filesystem::weakly_canonical(std::filesystem::absolute(*target), ec));
    if (ec) targets.back() = *target;
  }
  if (targets.size() < 2 || targets[0] != targets[1]) return {};
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("--json and --junit name the same file, {}; one would overwrite the other",
                  args.json->string()));
}

Result<scenarios::SutSpec> choose_sut(const RunArgs& args, const Context& context) {
  scenarios::SutSpec sut;
  if (args.sut) {
    auto manifest = scenarios::load_manifest(*args.sut);
    if (!manifest) return manifest;
    sut = std::move(*manifest);
  } else {
    sut.name = "reference";
    sut.reference = true;
    sut.command = {context.program, "worker"};
    if (!args.mutant.empty()) {
      if (auto known = scenarios::find_mutant(args.mutant); !known) {
        return tl::unexpected(known.error());
      }
      sut.mutant = args.mutant;
      sut.command.insert(sut.command.end(), {"--mutant", args.mutant});
    }
  }
  for (const auto& [name, value] : context.sut_environment) sut.environment.emplace(name, value);
  return sut;
}

// Progress on a terminal is one line that is written over; in a log, one line a cell.
class Progress {
 public:
  Progress(const Context& context, bool quiet, std::size_t all)
      : context_(context), quiet_(quiet), all_(all) {}
  void show(const scenarios::CellResult& cell) {
    ++done_;
    if (quiet_) return;
    const auto line = reports::progress_line(cell, done_, all_);
    if (context_.terminal) {
      fmt::print("\r\x1b[K{}", line);
    } else {
      fmt::print("{}\n", line);
    }
    std::fflush(stdout);
  }
  void clear() {
    if (!quiet_ && context_.terminal) fmt::print("\r\x1b[K");
  }

 private:
  const Context& context_;
  bool quiet_;
  std::size_t all_;
  std::size_t done_ = 0;
};

Result<void> write_reports(const reports::RunReport& report, const RunArgs& args) {
  const auto folder = reports::write_report_folder(report, args.out);
  if (!folder) return tl::unexpected(folder.error());
  if (args.json) {
    auto done = write_file(
        *args.json,
        reports::to_json(report).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    if (!done) return done;
  }
  if (args.junit) {
    if (auto done = write_file(*args.junit, reports::to_junit(report)); !done) return done;
  }
  fmt::print("reports: {} ({} points there)\n", escape_terminal(folder->string()),
             escape_terminal((args.out / "latest").string()));
  return {};
}

ExitCode exit_code(const reports::RunReport& report) {
  if (report.interrupted) return kInterrupted;
  const auto summary = reports::summarise(report);
  // What could not be judged is not green; what the SUT does not offer is not its fault, unless
  // nothing else is left.
  if (summary.violated + summary.inconclusive > 0 || summary.passed == 0) return kViolated;
  return kPassed;
}

}  // namespace

ExitCode run_command(const RunArgs& args, const Context& context) {
  const auto chosen = choose_scenarios(args);
  if (!chosen) return complain(chosen.error());
  auto sut = choose_sut(args, context);
  if (!sut) return complain(sut.error());
  if (auto usable = check_outputs(args); !usable) return complain(usable.error());
  const auto cells = scenarios::make_cells(*chosen, args.filters, args.seed);
  if (cells.empty()) {
    return complain({ErrorCode::not_found,
                     "no cell matches the filters; a cell is called service/scenario/profile, "
                     "such as payments/guide-lost-response/keyed"});
  }
  const auto work = TempDir::make("onceproof");
  if (!work) return complain(work.error());
  const auto watchdog = start_watchdog(context.program, work->path());
  sut->environment[kRunVariable] = work->path().string();

  reports::RunReport report;
  report.version = context.version;
  report.command = context.command;
  report.sut = sut->name;
  report.mutant = sut->mutant;
  if (args.sut) report.manifest = args.sut->string();
  report.seed = args.seed;
  report.started_at = context.clock.civil();
  scenarios::RunOptions options;
  options.sut = std::move(*sut);
  options.seed = args.seed;
  options.jobs = args.jobs;
  options.cell_timeout = args.cell_timeout;
  options.fail_fast = args.fail_fast;
  options.work_dir = work->path();

  const auto begun = context.clock.monotonic();
  Progress progress(context, args.quiet, cells.size());
  const auto outcome =
      scenarios::run_cells(cells, options, context.clock, context.stop, [&](const auto& cell) {
        progress.show(cell);
        report.cells.push_back(cell);
      });
  progress.clear();
  report.duration = std::chrono::duration_cast<Milliseconds>(context.clock.monotonic() - begun);
  report.interrupted = context.stop.stop_requested();
  if (!outcome && !report.interrupted) return complain(outcome.error());
  if (outcome) report.cells = *outcome;  // in the order of the plan
  for (const auto& cell : report.cells) {
    if (cell.verdict.kind != scenarios::VerdictKind::unsupported) {
      fmt::print("{}", reports::explain(report, cell, context.color));
    }
  }
  fmt::print("{}", reports::overview(report, context.color));
  if (auto written = write_reports(report, args); !written) return complain(written.error());
  return exit_code(report);
}

}  // namespace onceproof::cli
