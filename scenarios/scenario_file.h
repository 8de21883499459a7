// Reads scenarios from YAML. docs/scenarios.md describes every field.
// Invariant: what is read is playable: every name it uses is known, every intent is submitted, no
// field is left over. The first mistake is an error with file:line:column, the path of the field
// and what would be right.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "scenarios/scenario.h"

namespace onceproof::scenarios {

// Errors: not_found, io_failed, limit_exceeded (1 MiB), parse_failed.
Result<Scenario> load_scenario(const std::filesystem::path& file);
// `file` stands in messages and in Scenario::file.
Result<Scenario> parse_scenario(std::string_view text, const std::string& file);
// All *.yaml of a folder, by file name. Errors: as load_scenario; parse_failed if two have one
// name; not_found if there are none.
Result<std::vector<Scenario>> load_scenarios(const std::filesystem::path& folder);

}  // namespace onceproof::scenarios
