#include "reports/run_report.h"

#include <fmt/format.h>

#include "base/text.h"

namespace onceproof::reports {
Summary summarise(const RunReport& report) {
  Summary summary;
  for (const auto& cell : report.cells) {
    ++summary.cells;
    switch (cell.verdict.kind) {
      case scenarios::VerdictKind::pass:
        ++summary.passed;
        break;
      case scenarios::VerdictKind::violated:
        ++summary.violated;
        break;
      case scenarios::VerdictKind::inconclusive:
        ++summary.inconclusive;
        break;
      case scenarios::VerdictKind::unsupported:
        ++summary.unsupported;
        break;
    }
  }
  return summary;
}

std::string reproduce_line(const RunReport& report, const scenarios::CellResult& cell) {
  const auto& file = cell.history.scenario.file;
  // A scenario of the catalogue is called by name, another one by its file.
  const std::string scenario = file.find('/') == std::string::npos ? cell.scenario : file;
  std::string line = fmt::format("{} run {} --filter {} --seed {}", report.command,
                                 quote_shell(scenario), quote_shell(cell.id), report.seed);
  if (!report.mutant.empty()) line += " --mutant " + quote_shell(report.mutant);
  if (!report.manifest.empty()) line += " --sut " + quote_shell(report.manifest);
  return line;
}

}  // namespace onceproof::reports
