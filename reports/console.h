// The results for a terminal or a CI log: what failed, why, how it went, how to see it again; then
// the matrix. Everything untrusted is escaped; colour only if asked for.
#pragma once

#include <string>

#include "reports/run_report.h"

namespace onceproof::reports {

// "[12/48] payments/two-workers/keyed: pass (0.8 s)"
std::string progress_line(const scenarios::CellResult& cell, std::size_t done, std::size_t all);
// One cell that did not pass, whole; empty for one that passed.
std::string explain(const RunReport& report, const scenarios::CellResult& cell, bool color);
// The matrix (scenario x profile) and the sums.
std::string overview(const RunReport& report, bool color);

}  // namespace onceproof::reports
