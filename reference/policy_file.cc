#include "reference/policy_file.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/yaml.h"

namespace onceproof {

Result<PolicyFile> parse_policy(std::string_view yaml, std::string name) {
  const auto document = parse_yaml(yaml, std::move(name));
  if (!document) return tl::unexpected(document.error());
  YamlCursor root(**document);
  PolicyFile file;
  Guarantees common;
  if (auto provider = root.find("provider")) common = read_guarantees(*provider);
  for (auto& [action, map] : root.require("tool_policy").members()) {
    file.policy.tools[action] = read_tool_policy(map);
    Guarantees& guarantees = file.guarantees[action] = common;
    if (map.kind() == YamlValue::Kind::null) continue;
    if (auto provider = map.find("provider")) guarantees = read_guarantees(*provider);
    map.refuse_others();
  }
  root.refuse_others();
  if ((*document)->error) return tl::unexpected(*(*document)->error);
  if (auto checked = check_follow_ups(file.policy); !checked) {
    return fail(ErrorCode::parse_failed,
                fmt::format("{}: {}", (*document)->file, checked.error().message));
  }
  return file;
}

Result<PolicyFile> read_policy_file(const std::filesystem::path& path) {
  const auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  return parse_policy(*text, path.string());
}

}  // namespace onceproof
