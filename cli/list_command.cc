#include <fmt/format.h>

#include "base/json.h"
#include "cli/commands.h"
#include "fakes/profile.h"
#include "scenarios/catalogue.h"
#include "scenarios/judge.h"
#include "scenarios/mutants/mutants.h"

namespace onceproof::cli {
namespace {

Json all_as_json(const std::vector<scenarios::Scenario>& catalogue) {
  Json all{{"scenarios", Json::array()},
           {"profiles", Json::array()},
           {"invariants", Json::array()},
           {"mutants", Json::array()}};
  for (const auto& scenario : catalogue) {
    all["scenarios"].push_back({{"name", scenario.name},
                                {"title", scenario.title},
                                {"services", scenario.services},
                                {"profiles", scenario.profiles},
                                {"control_of", scenario.control_of},
                                {"reports", scenario.reports}});
  }
  for (const auto& profile : fakes::profiles()) {
    all["profiles"].push_back({{"name", profile.name},
                               {"summary", profile.summary},
                               {"guarantees", fakes::guarantees_json(profile)}});
  }
  for (const auto& invariant : scenarios::invariants()) {
    all["invariants"].push_back(
        {{"id", invariant.id}, {"sentence", invariant.sentence}, {"remedy", invariant.remedy}});
  }
  for (const auto& mutant : scenarios::mutants()) {
    all["mutants"].push_back(
        {{"name", mutant.name}, {"mistake", mutant.mistake}, {"caught_by", mutant.caught_by}});
  }
  return all;
}

}  // namespace

ExitCode list_command(const ListArgs& args, const Context&) {
  const auto catalogue = scenarios::load_catalogue();
  if (!catalogue) return complain(catalogue.error());
  if (args.json) {
    fmt::print("{}\n", all_as_json(*catalogue).dump(2));
    return kPassed;
  }
  fmt::print("Scenarios (onceproof run NAME)\n");
  for (const auto& scenario : *catalogue) {
    fmt::print("  {:36} {}\n  {:36} at {}\n", scenario.name, scenario.title, "",
               fmt::join(scenario.profiles, ", "));
  }
  fmt::print("\nProvider profiles (--filter '*/*/NAME', onceproof serve --profile NAME)\n");
  for (const auto& profile : fakes::profiles()) {
    fmt::print("  {:36} {}\n", profile.name, profile.summary);
  }
  fmt::print("\nInvariants (checked in every cell)\n");
  for (const auto& invariant : scenarios::invariants()) {
    fmt::print("  {:36} {}\n", invariant.id, invariant.sentence);
  }
  fmt::print("\nMutants (onceproof run --mutant NAME)\n");
  for (const auto& mutant : scenarios::mutants()) {
    fmt::print("  {:36} {}; caught by {}\n", mutant.name, mutant.mistake, mutant.caught_by);
  }
  return kPassed;
}

}  // namespace onceproof::cli
