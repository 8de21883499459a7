// The scenarios that come with onceproof, carried inside the binary (scenarios/catalogue/*.yaml,
// embedded by CMake).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "scenarios/scenario.h"

namespace onceproof::scenarios {

struct CatalogueText {
  std::string_view file;  // "guide-lost-response.yaml"
  std::string_view yaml;
};

std::span<const CatalogueText> catalogue_texts();  // sorted by file

// Errors: parse_failed, with file:line:column; the tests see to it that there are none.
Result<std::vector<Scenario>> load_catalogue();

}  // namespace onceproof::scenarios
