#include "scenarios/scenario_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/file.h"
#include "base/yaml.h"
#include "fakes/profile.h"
#include "scenarios/scenario_parts.h"
#include "scenarios/services.h"

namespace onceproof::scenarios {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;
constexpr std::size_t kMaxFiles = 10'000;
constexpr std::size_t kMaxIntents = 100;
constexpr int kMaxWorkers = 16;
constexpr int kMaxCount = 1'000;

const std::vector<std::string> kFinals{"pending",   "in_progress",  "unknown",
                                       "succeeded", "failed_final", "review"};

std::string read_title(YamlCursor at) {
  std::string text = at.text();
  if (text.empty() || text.size() > 200) at.complain("expected a text of 1 to 200 bytes");
  return text;
}

std::vector<std::string> read_reports(YamlCursor at) {
  std::vector<std::string> reports;
  for (auto& item : at.items()) {
    const std::string report = item.text();
    const bool good = report.size() >= 2 && report.size() <= 4 && report[0] == 'R' &&
                      report.find_first_not_of("0123456789", 1) == std::string::npos;
    if (!good) item.complain("a field report is called R and a number: R01");
    reports.push_back(report);
  }
  return reports;
}

// A list of different words out of `allowed`, one at least.
std::vector<std::string> read_choice(YamlCursor at, const std::vector<std::string>& allowed) {
  std::vector<std::string> chosen;
  for (auto& item : at.items()) {
    const auto word = item.one_of(allowed);
    if (std::ranges::find(chosen, word) != chosen.end())
      item.complain(fmt::format("'{}' stands there twice", word));
    chosen.push_back(word);
  }
  if (chosen.empty())
    at.complain(fmt::format("name at least one of: {}", fmt::join(allowed, ", ")));
  return chosen;
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const auto& profile : fakes::profiles()) names.push_back(profile.name);
  return names;
}

std::vector<std::string> action_names() {
  std::vector<std::string> names;
  for (const auto& row : actions()) names.emplace_back(row.action);
  return names;
}

std::vector<std::string> worker_names(int workers) {
  std::vector<std::string> names;
  for (int i = 1; i <= workers; ++i) names.push_back(fmt::format("w{}", i));
  return names;
}

IntentSpec read_intent(YamlCursor at) {
  IntentSpec intent;
  intent.action = at.require("action").one_of(action_names());
  auto params = at.require("params");
  intent.params = params.json();
  if (const auto row = find_action(intent.action)) {
    if (!intent.params.is_object() || business_ref(**row, intent.params).empty()) {
      params.complain(fmt::format("expected members, '{}' among them: effects are counted by it",
                                  (*row)->business_ref_field));
    }
  }
  if (auto tenant = at.find("tenant")) intent.tenant = read_key(*tenant);
  if (auto key = at.find("operation_key")) intent.operation_key = read_key(*key);
  if (auto id = at.find("intent_id")) intent.intent_id = read_key(*id);
  at.refuse_others();
  return intent;
}

std::map<std::string, IntentSpec> read_intents(YamlCursor at, const std::string& scenario) {
  std::map<std::string, IntentSpec> intents;
  std::map<std::tuple<std::string, std::string, std::string>, std::string> identities;
  for (auto& [name, value] : at.members()) {
    auto intent = read_intent(value);
    if (name.empty() || name.size() > 40 ||
        name.find_first_of(" \t\r\n/.[]") != std::string::npos) {
      value.complain("an intent's name is one word of at most 40 bytes");
    }
    const auto id = intent.intent_id.value_or(scenario + "/" + name);
    const auto [other, fresh] =
        identities.emplace(std::tuple(intent.tenant, intent.action, id), name);
    if (!fresh) {
      value.complain(fmt::format(
          "tenant, action and intent_id are those of intent '{}': it would be the same intent",
          other->second));
    }
    intents[name] = std::move(intent);
  }
  if (intents.empty() || intents.size() > kMaxIntents) {
    at.complain(fmt::format("a scenario has 1 to {} intents", kMaxIntents));
  }
  return intents;
}

// The member names of a map must be intents.
std::vector<std::pair<std::string, YamlCursor>> by_intent(YamlCursor at, const KnownNames& known) {
  auto members = at.members();
  for (auto& [name, value] : members) {
    if (std::ranges::find(known.intents, name) != known.intents.end()) continue;
    const auto meant = nearest(name, known.intents);
    value.complain(fmt::format("there is no intent '{}'{}; there are: {}", name,
                               meant.empty() ? "" : ", did you mean '" + meant + "'?",
                               fmt::join(known.intents, ", ")));
  }
  return members;
}

FinalExpectation read_final(YamlCursor at, const KnownNames& known) {
  FinalExpectation expect;
  if (auto effects = at.find("effects")) {
    for (auto& [intent, count] : by_intent(*effects, known)) {
      expect.effects[intent] = static_cast<int>(count.integer(0, kMaxCount));
    }
  }
  if (auto final = at.find("final")) {
    for (auto& [intent, statuses] : by_intent(*final, known)) {
      if (statuses.kind() == YamlValue::Kind::list) {
        expect.final[intent] = read_choice(statuses, kFinals);
      } else {
        expect.final[intent] = {statuses.one_of(kFinals)};
      }
    }
  }
  at.refuse_others();
  return expect;
}

void read_expectations(YamlCursor at, const KnownNames& known, Scenario& scenario) {
  if (auto expect = at.find("default")) scenario.expect = read_final(*expect, known);
  for (const auto& profile : scenario.profiles) {
    if (auto expect = at.find(profile)) scenario.expect_for[profile] = read_final(*expect, known);
  }
  at.refuse_others();
}

std::set<std::string> submitted_intents(const Scenario& scenario) {
  std::set<std::string> intents;
  for (const auto& step : scenario.steps) {
    if (const auto* submit = std::get_if<SubmitStep>(&step)) intents.insert(submit->intent);
    if (const auto* parallel = std::get_if<ParallelStep>(&step)) {
      for (const auto& one : parallel->submits) intents.insert(one.intent);
    }
  }
  return intents;
}

void read_services(std::optional<YamlCursor> at, Scenario& scenario) {
  std::set<std::string> needed;
  for (const auto& [name, intent] : scenario.intents) {
    if (const auto row = find_action(intent.action)) needed.insert(std::string((*row)->service));
  }
  if (!at) {
    scenario.services.assign(needed.begin(), needed.end());
    return;
  }
  scenario.services = read_choice(*at, service_names());
  if (std::set(scenario.services.begin(), scenario.services.end()) != needed) {
    at->complain(fmt::format("the intents' actions belong to: {}", fmt::join(needed, ", ")));
  }
}

Scenario read_scenario(YamlCursor root) {
  Scenario scenario;
  scenario.name = read_name(root.require("scenario"), "-", 80);
  scenario.title = read_title(root.require("title"));
  if (auto guide = root.find("guide")) scenario.guide = read_title(*guide);
  if (auto reports = root.find("reports")) scenario.reports = read_reports(*reports);
  if (auto control = root.find("control_of")) scenario.control_of = read_name(*control, "-", 80);
  if (auto twin = root.find("twin")) scenario.twin = read_name(*twin, "-", 80);
  scenario.profiles = read_choice(root.require("profiles"), profile_names());
  if (auto workers = root.find("workers")) {
    scenario.workers = static_cast<int>(workers->integer(1, kMaxWorkers));
  }
  auto intents = root.require("intents");
  scenario.intents = read_intents(intents, scenario.name);
  read_services(root.find("services"), scenario);

  KnownNames known{{}, worker_names(scenario.workers)};
  for (const auto& [name, intent] : scenario.intents) known.intents.push_back(name);
  if (auto faults = root.find("faults")) scenario.faults = read_faults(*faults, known);
  scenario.steps = read_steps(root.require("steps"), known);
  if (auto expect = root.find("expect")) read_expectations(*expect, known, scenario);
  root.refuse_others();

  const auto submitted = submitted_intents(scenario);
  for (auto& [name, value] : intents.members()) {
    if (!submitted.contains(name)) {
      value.complain(fmt::format("no step submits intent '{}'; add a step or take it out", name));
    }
  }
  return scenario;
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view text, const std::string& file) {
  auto document = parse_yaml(text, file);
  if (!document) return tl::unexpected(document.error());
  auto scenario = read_scenario(YamlCursor(**document));
  if ((*document)->error) return tl::unexpected(*(*document)->error);
  scenario.file = file;
  return scenario;
}

Result<Scenario> load_scenario(const std::filesystem::path& file) {
  const auto text = read_file(file, kMaxBytes);
  if (!text) return tl::unexpected(text.error());
  return parse_scenario(*text, file.string());
}

Result<std::vector<Scenario>> load_scenarios(const std::filesystem::path& folder) {
  std::error_code ec;
  std::vector<std::filesystem::path> files;
  std::filesystem::directory_iterator entry(folder, ec);
  for (; !ec && entry != std::filesystem::directory_iterator(); entry.increment(ec)) {
    if (entry->path().extension() == ".yaml") files.push_back(entry->path());
    if (files.size() > kMaxFiles) {
      return fail(ErrorCode::limit_exceeded,
                  fmt::format("{} has more than {} scenarios", folder.string(), kMaxFiles));
    }
  }
  if (ec) {
    return fail(ErrorCode::io_failed,
                fmt::format("cannot read the folder {}: {}", folder.string(), ec.message()));
  }
  std::ranges::sort(files);
  std::vector<Scenario> scenarios;
  std::map<std::string, std::string> taken;
  for (const auto& file : files) {
    auto scenario = load_scenario(file);
    if (!scenario) return tl::unexpected(scenario.error());
    const auto [other, fresh] = taken.emplace(scenario->name, file.string());
    if (!fresh) {
      return fail(ErrorCode::parse_failed,
                  fmt::format("{}: the name '{}' is taken by {}", file.string(), scenario->name,
                              other->second));
    }
    scenarios.push_back(std::move(*scenario));
  }
  if (scenarios.empty()) {
    return fail(ErrorCode::not_found, fmt::format("{} holds no *.yaml file", folder.string()));
  }
  return scenarios;
}

}  // namespace onceproof::scenarios
