#include "reports/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/text.h"
#include "scenarios/timeline.h"

namespace onceproof::reports {
namespace {

using scenarios::VerdictKind;

std::string painted(std::string text, std::string_view code, bool color) {
  if (!color) return text;
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string_view color_of(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::pass:
      return "32";
    case VerdictKind::violated:
      return "31";
    case VerdictKind::inconclusive:
      return "33";
    case VerdictKind::unsupported:
      break;
  }
  return "2";
}

std::string seconds(Milliseconds duration) {
  return fmt::format("{:.1f} s", static_cast<double>(duration.count()) / 1'000.0);
}

std::string explain_violation(const scenarios::Violation& violation, bool color) {
  std::string text = "  " + painted(violation.invariant, "31;1", color);
  if (!violation.intent.empty()) text += " (intent " + violation.intent + ")";
  text += fmt::format("\n    observed  {}\n", escape_terminal(violation.observed));
  if (!violation.inferred.empty()) {
    text += fmt::format("    inferred  {}\n", escape_terminal(violation.inferred));
  }
  if (!violation.remedy.empty()) {
    text += fmt::format("    remedy    {}\n", escape_terminal(violation.remedy));
  }
  return text;
}

// Marks the requests that are evidence.
std::string explain_timeline(const scenarios::CellResult& cell, bool color) {
  std::set<std::uint64_t> evidence;
  for (const auto& violation : cell.verdict.violations) {
    evidence.insert(violation.requests.begin(), violation.requests.end());
  }
  std::string text = "  timeline (> marks the evidence)\n";
  for (const auto& event : scenarios::make_timeline(cell.history)) {
    const bool marked = event.request != 0 && evidence.contains(event.request);
    const bool struck = event.lane == scenarios::Lane::fault;
    auto line =
        fmt::format("  {} {}", marked ? ">" : " ", scenarios::to_text(event, cell.history.start));
    text += painted(std::move(line), struck ? "33" : "31", color && (marked || struck)) + "\n";
  }
  return text;
}

std::string indented(const std::string& block) {
  std::string text;
  std::size_t from = 0;
  while (from < block.size()) {
    const auto end = std::min(block.find('\n', from), block.size());
    text += "    " + escape_terminal(block.substr(from, end - from)) + "\n";
    from = end + 1;
  }
  return text;
}

}  // namespace

std::string progress_line(const scenarios::CellResult& cell, std::size_t done, std::size_t all) {
  return fmt::format("[{}/{}] {}: {} ({})", done, all, cell.id, to_text(cell.verdict.kind),
                     seconds(cell.duration));
}

std::string explain(const RunReport& report, const scenarios::CellResult& cell, bool color) {
  if (cell.verdict.kind == VerdictKind::pass) return {};
  std::string text = fmt::format(
      "\n{}  {}\n  {}\n",
      painted(std::string(to_text(cell.verdict.kind)), color_of(cell.verdict.kind), color), cell.id,
      escape_terminal(cell.history.scenario.title));
  for (const auto& violation : cell.verdict.violations) text += explain_violation(violation, color);
  if (!cell.verdict.reason.empty()) {
    text += fmt::format("  reason    {}\n", escape_terminal(cell.verdict.reason));
  }
  if (cell.verdict.kind != VerdictKind::unsupported) text += explain_timeline(cell, color);
  if (!cell.history.stderr_tail.empty() && cell.verdict.kind == VerdictKind::inconclusive) {
    text += "  the workers' stderr ends\n" + indented(cell.history.stderr_tail);
  }
  return text + fmt::format("  reproduce  {}\n", reproduce_line(report, cell));
}

std::string overview(const RunReport& report, bool color) {
  std::vector<std::string> rows, columns;
  std::map<std::pair<std::string, std::string>, VerdictKind> verdicts;
  for (const auto& cell : report.cells) {
    const auto row = cell.service + "/" + cell.scenario;
    if (std::ranges::find(rows, row) == rows.end()) rows.push_back(row);
    if (std::ranges::find(columns, cell.profile) == columns.end()) columns.push_back(cell.profile);
    verdicts[{row, cell.profile}] = cell.verdict.kind;
  }
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.size());
  std::string text = fmt::format("\n{:{}}", "", width);
  for (const auto& column : columns) text += fmt::format("  {:>13}", column);
  for (const auto& row : rows) {
    text += fmt::format("\n{:{}}", row, width);
    for (const auto& column : columns) {
      const auto found = verdicts.find({row, column});
      const bool is_there = found != verdicts.end();
      const auto word = fmt::format("  {:>13}", is_there ? to_text(found->second) : "-");
      text += is_there ? painted(word, color_of(found->second), color) : word;
    }
  }
  const auto summary = summarise(report);
  text += fmt::format(
      "\n\n{} cells against {}{} in {}: {} passed, {} violated, {} inconclusive, {} unsupported",
      summary.cells, escape_terminal(report.sut),
      report.mutant.empty() ? "" : " (mutant " + report.mutant + ")", seconds(report.duration),
      summary.passed, summary.violated, summary.inconclusive, summary.unsupported);
  int disturbed = 0;
  for (const auto& cell : report.cells) disturbed += cell.disturbed.empty() ? 0 : 1;
  if (disturbed > 0) {
    text += fmt::format("\n{} of the cells were repeated because the machine stalled", disturbed);
  }
  if (report.interrupted) text += "\nstopped before all cells were run";
  return text + "\n";
}

}  // namespace onceproof::reports
