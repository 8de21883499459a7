#include "scenarios/catalogue.h"

#include "scenarios/scenario_file.h"

namespace onceproof::scenarios {

Result<std::vector<Scenario>> load_catalogue() {
  std::vector<Scenario> scenarios;
  for (const auto& text : catalogue_texts()) {
    auto scenario = parse_scenario(text.yaml, std::string(text.file));
    if (!scenario) return tl::unexpected(scenario.error());
    scenarios.push_back(std::move(*scenario));
  }
  return scenarios;
}

}  // namespace onceproof::scenarios
