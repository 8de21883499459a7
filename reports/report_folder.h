// One folder for a run's reports: results.json, junit.xml and, for each cell that did not pass, its
// explanation as text; and a link `latest` to it.
#pragma once

#include <filesystem>

#include "base/error.h"
#include "reports/run_report.h"

namespace onceproof::reports {

// Makes OUT/<time>-seed-<seed>/ (a number is added if it is taken) and points OUT/latest to it.
// Returns the folder. Errors: io_failed, naming the file.
Result<std::filesystem::path> write_report_folder(const RunReport& report,
                                                  const std::filesystem::path& out);

}  // namespace onceproof::reports
