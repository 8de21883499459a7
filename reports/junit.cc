#include "reports/junit.h"

#include <fmt/format.h>

#include "base/text.h"
#include "scenarios/timeline.h"

namespace onceproof::reports {
namespace {

double seconds(Milliseconds duration) {
  return static_cast<double>(duration.count()) / 1'000.0;
}

std::string details(const RunReport& report, const scenarios::CellResult& cell) {
  std::string text;
  for (const auto& violation : cell.verdict.violations) {
    text += fmt::format("{} {}: {}\n  inferred: {}\n  remedy: {}\n", violation.invariant,
                        violation.intent, violation.observed, violation.inferred, violation.remedy);
  }
  if (!cell.verdict.reason.empty()) text += cell.verdict.reason + "\n";
  for (const auto& event : scenarios::make_timeline(cell.history)) {
    text += scenarios::to_text(event, cell.history.start) + "\n";
  }
  return text + "reproduce: " + reproduce_line(report, cell) + "\n";
}

std::string first_line(const scenarios::CellResult& cell) {
  if (cell.verdict.violations.empty()) return cell.verdict.reason;
  const auto& violation = cell.verdict.violations.front();
  return violation.invariant + ": " + violation.observed;
}

std::string inner(const RunReport& report, const scenarios::CellResult& cell) {
  const auto message = escape_xml(first_line(cell));
  switch (cell.verdict.kind) {
    case scenarios::VerdictKind::pass:
      return {};
    case scenarios::VerdictKind::violated:
      return fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n",
                         escape_xml(cell.verdict.violations.front().invariant), message,
                         escape_xml(details(report, cell)));
    case scenarios::VerdictKind::inconclusive:
      return fmt::format("      <error type=\"inconclusive\" message=\"{}\">{}</error>\n", message,
                         escape_xml(details(report, cell)));
    case scenarios::VerdictKind::unsupported:
      break;
  }
  return fmt::format("      <skipped message=\"{}\"/>\n", message);
}

}  // namespace

std::string to_junit(const RunReport& report) {
  const auto summary = summarise(report);
  const auto counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", summary.cells,
                  summary.violated, summary.inconclusive, summary.unsupported);
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"onceproof\" {} "
      "time=\"{:.3f}\">\n  <testsuite name=\"{}\" {} time=\"{:.3f}\" timestamp=\"{}\">\n",
      counts, seconds(report.duration), escape_xml(report.sut), counts, seconds(report.duration),
      to_rfc3339(report.started_at));
  for (const auto& cell : report.cells) {
    const auto body = inner(report, cell);
    xml += fmt::format("    <testcase classname=\"{}.{}\" name=\"{}\" time=\"{:.3f}\"{}",
                       escape_xml(cell.service), escape_xml(cell.scenario),
                       escape_xml(cell.profile), seconds(cell.duration),
                       body.empty() ? "/>\n" : ">\n" + body + "    </testcase>\n");
  }
  return xml + "  </testsuite>\n</testsuites>\n";
}

}  // namespace onceproof::reports
