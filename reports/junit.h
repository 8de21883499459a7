// The results as JUnit XML, for CI: a violated cell is a failure, an inconclusive one an error, an
// unsupported one skipped. Everything untrusted is escaped.
#pragma once

#include <string>

#include "reports/run_report.h"

namespace onceproof::reports {

std::string to_junit(const RunReport& report);

}  // namespace onceproof::reports
