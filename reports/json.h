// The results as JSON, schema 1: the machine-readable contract. Later versions add members; none
// changes its meaning. docs/reports.md describes it.
#pragma once

#include "base/json.h"
#include "reports/run_report.h"

namespace onceproof::reports {

Json to_json(const RunReport& report);

}  // namespace onceproof::reports
