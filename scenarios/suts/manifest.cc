#include "scenarios/suts/manifest.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/yaml.h"

namespace onceproof::scenarios {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;
constexpr std::size_t kMaxArguments = 256;
constexpr Milliseconds kShortest{10};
constexpr Milliseconds kLongest{std::chrono::minutes{10}};

std::string read_name(YamlCursor at) {
  std::string name = at.text();
  if (name.empty() || name.size() > 80) at.complain("a name has 1 to 80 bytes");
  return name;
}

std::vector<std::string> read_command(YamlCursor at) {
  std::vector<std::string> command;
  if (at.kind() != YamlValue::Kind::list) {
    at.complain("expected a list, one item an argument: [python3, sut.py]");
    return command;
  }
  for (auto& item : at.items()) command.push_back(item.text());
  if (command.empty() || command[0].empty())
    at.complain("the command is empty; write [python3, sut.py]");
  if (command.size() > kMaxArguments)
    at.complain(fmt::format("at most {} arguments", kMaxArguments));
  return command;
}

std::map<std::string, std::string> read_env(YamlCursor at) {
  std::map<std::string, std::string> env;
  for (auto& [name, value] : at.members()) {
    const bool usable = !name.empty() && name.find_first_not_of(
                                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "abcdefghijklmnopqrstuvwxyz"
                                             "0123456789_") == std::string::npos;
    if (!usable) value.complain("a variable's name has letters, digits and underscores only");
    env[name] = value.kind() == YamlValue::Kind::null ? std::string() : value.text();
  }
  return env;
}

Milliseconds read_timeout(YamlCursor at) {
  const auto timeout = at.duration();
  if (timeout < kShortest || timeout > kLongest) {
    at.complain(fmt::format("must be from {} to {}", to_text(kShortest), to_text(kLongest)));
  }
  return timeout;
}

std::filesystem::path read_working_dir(std::optional<YamlCursor> at,
                                       const std::filesystem::path& file) {
  const auto own_folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  if (!at) return own_folder;
  const auto folder = own_folder / at->text();  // an absolute path replaces it
  std::error_code ec;
  if (!std::filesystem::is_directory(folder, ec)) {
    at->complain(fmt::format("there is no folder {}", folder.string()));
  }
  return folder;
}

}  // namespace

Result<SutSpec> load_manifest(const std::filesystem::path& file) {
  const auto text = read_file(file, kMaxBytes);
  if (!text) return tl::unexpected(text.error());
  return parse_manifest(*text, file);
}

Result<SutSpec> parse_manifest(std::string_view text, const std::filesystem::path& file) {
  auto document = parse_yaml(text, file.string());
  if (!document) return tl::unexpected(document.error());
  YamlCursor root(**document);
  SutSpec spec;
  spec.name = read_name(root.require("name"));
  root.require("adapter").one_of({"exec"});
  spec.command = read_command(root.require("command"));
  spec.working_dir = read_working_dir(root.find("working_dir"), file);
  if (auto env = root.find("env")) spec.environment = read_env(*env);
  if (auto timeout = root.find("start_timeout")) spec.start_timeout = read_timeout(*timeout);
  if (auto timeout = root.find("answer_timeout")) spec.answer_timeout = read_timeout(*timeout);
  root.refuse_others();
  if ((*document)->error) return tl::unexpected(*(*document)->error);
  return spec;
}

}  // namespace onceproof::scenarios
