// The parts of a scenario file, one .cc each; scenario_file.cc puts them together.
// Mistakes are noted at their place in the document; what is returned then means nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"
#include "scenarios/scenario.h"

namespace onceproof::scenarios {

// The names that a file's parts may refer to.
struct KnownNames {
  std::vector<std::string> intents;
  std::vector<std::string> workers;
};

std::vector<Step> read_steps(YamlCursor at, const KnownNames& known);
std::vector<FaultSpec> read_faults(YamlCursor at, const KnownNames& known);

// Begins with a letter; then letters, digits and what stands in `also`; `longest` bytes at most.
std::string read_name(YamlCursor at, std::string_view also, std::size_t longest);
// 1..200 visible ASCII characters: what may stand in a header.
std::string read_key(YamlCursor at);
// Every service that has an action.
std::vector<std::string> service_names();

}  // namespace onceproof::scenarios
