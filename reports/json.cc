#include "reports/json.h"

namespace onceproof::reports {
namespace {

int count_calls(const scenarios::History& history) {
  int calls = 0;
  for (const auto& entry : history.wire) calls += entry.route == "create" ? 1 : 0;
  return calls;
}

Json to_json(const scenarios::Violation& violation) {
  return {{"invariant", violation.invariant}, {"intent", violation.intent},
          {"observed", violation.observed},   {"inferred", violation.inferred},
          {"remedy", violation.remedy},       {"requests", violation.requests}};
}

Json to_json(const RunReport& report, const scenarios::CellResult& cell) {
  Json violations = Json::array();
  for (const auto& violation : cell.verdict.violations) violations.push_back(to_json(violation));
  return {{"id", cell.id},
          {"scenario", cell.scenario},
          {"service", cell.service},
          {"profile", cell.profile},
          {"verdict", scenarios::to_text(cell.verdict.kind)},
          {"reason", cell.verdict.reason},
          {"violations", std::move(violations)},
          {"effects", cell.history.effects.size()},
          {"calls", count_calls(cell.history)},
          {"duration_ms", cell.duration.count()},
          {"disturbed", cell.disturbed},
          {"reproduce", reproduce_line(report, cell)}};
}

}  // namespace

Json to_json(const RunReport& report) {
  const auto summary = summarise(report);
  Json cells = Json::array();
  for (const auto& cell : report.cells) cells.push_back(to_json(report, cell));
  return {{"schema", 1},
          {"tool", {{"name", "onceproof"}, {"version", report.version}}},
          {"seed", report.seed},
          {"sut", {{"name", report.sut}, {"mutant", report.mutant}, {"manifest", report.manifest}}},
          {"started_at", to_rfc3339(report.started_at)},
          {"duration_ms", report.duration.count()},
          {"interrupted", report.interrupted},
          {"summary",
           {{"cells", summary.cells},
            {"passed", summary.passed},
            {"violated", summary.violated},
            {"inconclusive", summary.inconclusive},
            {"unsupported", summary.unsupported}}},
          {"cells", std::move(cells)}};
}

}  // namespace onceproof::reports
