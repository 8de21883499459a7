#include "reference/policy_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"

namespace onceproof {
namespace {

bool is_plain_path(std::string_view path) {
  return path.starts_with('/') && path.find_first_of("?# ") == path.npos;
}

std::string read_pointer(YamlCursor& map, std::string_view member, std::string otherwise) {
  auto found = map.find(member);
  if (!found) return otherwise;
  auto pointer = found->text();
  if (!found->failed() && !is_json_pointer(pointer)) {
    found->complain("it is a JSON Pointer, such as /data/id");
  }
  return pointer;
}

GatewayRoute read_route(YamlCursor& map, const Policy& policy) {
  GatewayRoute route;
  route.method = map.require("method").one_of({"POST", "PUT", "PATCH", "DELETE"});
  auto path = map.require("path");
  route.path = path.text();
  if (!path.failed() && !is_plain_path(route.path)) {
    path.complain("a path begins with / and has no query: /accounts/{account}/payments");
  }
  auto action = map.require("action");
  route.action = action.text();
  if (!action.failed() && !policy.tools.contains(route.action)) {
    action.complain("tool_policy has no such tool");
  }
  route.id = read_pointer(map, "id", route.id);
  route.error = read_pointer(map, "error", route.error);
  map.refuse_others();
  return route;
}

GatewayPolicy read_gateway(YamlCursor map, const Policy& policy) {
  GatewayPolicy gateway;
  auto routes = map.require("routes");
  if (!routes.failed() && routes.items().empty()) {
    routes.complain("no route: nothing would be protected");
  }
  for (auto& route : routes.items()) {
    auto read = read_route(route, policy);
    const auto same = [&](const GatewayRoute& other) {
      return other.method == read.method && other.path == read.path;
    };
    if (std::ranges::any_of(gateway.routes, same)) {
      route.complain("a route of this method and path stands above already");
    }
    gateway.routes.push_back(std::move(read));
  }
  if (auto header = map.find("tenant_header")) {
    gateway.tenant_header = header->text();
    if (!is_http_token(gateway.tenant_header)) {
      header->complain("a header's name has letters, digits and - only");
    }
  }
  map.refuse_others();
  return gateway;
}

}  // namespace

Guarantees PolicyFile::guarantees_of(const std::string& action) const {
  const auto found = guarantees.find(action);
  return found == guarantees.end() ? Guarantees{} : found->second;
}

Result<PolicyFile> parse_policy(std::string_view yaml, std::string name) {
  const auto document = parse_yaml(yaml, std::move(name));
  if (!document) return tl::unexpected(document.error());
  YamlCursor root(**document);
  PolicyFile file;
  Guarantees common;
  if (auto provider = root.find("provider")) common = read_guarantees(*provider);
  auto tools = root.require("tool_policy").members();
  for (auto& [action, map] : tools) {
    file.policy.tools[action] = read_tool_policy(map);
    Guarantees& guarantees = file.guarantees[action] = common;
    if (map.kind() == YamlValue::Kind::null) continue;
    if (auto provider = map.find("provider")) guarantees = read_guarantees(*provider);
    map.refuse_others();
  }
  check_follow_ups(file.policy, tools);
  if (auto gateway = root.find("gateway")) file.gateway = read_gateway(*gateway, file.policy);
  root.refuse_others();
  if ((*document)->error) return tl::unexpected(*(*document)->error);
  return file;
}

Result<PolicyFile> read_policy_file(const std::filesystem::path& path) {
  const auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  return parse_policy(*text, path.string());
}

}  // namespace onceproof
