#include "reference/request_hash.h"

#include <fmt/format.h>

#include "base/digest.h"
#include "reference/canonical_json.h"
#include "reference/normalise.h"

namespace onceproof {
namespace {

constexpr std::size_t kDigestLength = 16;  // 64 bits: they only name what differs, the hash decides

// The guide's form: the action beside its parameters. A parameter that is itself named "action" or
// "params" would blur the two, so then the parameters stand apart; no flat form has a member
// "params", so the two forms never meet. `params` is lent: it comes back as it was.
Result<std::string> identity(std::string_view action, Json& params) {
  if (params.contains("action") || params.contains("params")) {
    return canonical_json({{"action", action}, {"params", params}});
  }
  params["action"] = action;
  auto text = canonical_json(params);
  params.erase("action");
  return text;
}

// `{"amount_minor":490000}` behind the salt. A made key has no newline, so the two parts cannot run
// into each other.
Result<std::string> field_digest(std::string_view salt, const std::string& name,
                                 const Json& value) {
  const auto key = canonical_json(name);
  if (!key) return tl::unexpected(key.error());
  const auto text = canonical_json(value);
  if (!text) return tl::unexpected(text.error());
  return sha256_hex(fmt::format("{}\n{{{}:{}}}", salt, *key, *text)).substr(0, kDigestLength);
}

}  // namespace

Result<RequestHash> make_request_hash(std::string_view action, const Json& params,
                                      const ToolPolicy& policy, int version,
                                      std::string_view salt) {
  const auto fields = policy.find_fields(version);
  if (!fields) return tl::unexpected(fields.error());
  auto normal = normalise(params, **fields);
  if (!normal) return tl::unexpected(normal.error());
  const auto text = identity(action, *normal);
  if (!text) return tl::unexpected(text.error());
  RequestHash result;
  result.hash = sha256_hex(*text);
  for (const auto& [name, value] : normal->items()) {
    auto digest = field_digest(salt, name, value);
    if (!digest) return tl::unexpected(digest.error());
    result.field_digests[name] = std::move(*digest);
  }
  result.normalised = std::move(*normal);
  return result;
}

// A field may be ignored deep inside: what stands beside it was normalised all the same.
Json params_to_send(const Json& given, const Json& normalised) {
  if (given.is_array() && normalised.is_array() && given.size() == normalised.size()) {
    Json items = Json::array();
    for (std::size_t i = 0; i < given.size(); ++i) {
      items.push_back(params_to_send(given[i], normalised[i]));
    }
    return items;
  }
  if (!given.is_object() || !normalised.is_object()) return normalised;
  Json params = Json::object();
  for (const auto& [name, value] : given.items()) {
    const Json* counted = find_member(normalised, name);
    if (counted != nullptr) {
      params[name] = params_to_send(value, *counted);
    } else if (!value.is_null()) {  // null: absent_if_null
      params[name] = value;
    }
  }
  return params;
}

std::vector<std::string> differing_fields(const std::map<std::string, std::string>& before,
                                          const std::map<std::string, std::string>& after) {
  std::vector<std::string> names;
  auto a = before.begin();
  auto b = after.begin();
  while (a != before.end() || b != after.end()) {  // both are sorted
    if (b == after.end() || (a != before.end() && a->first < b->first)) {
      names.push_back((a++)->first);
    } else if (a == before.end() || b->first < a->first) {
      names.push_back((b++)->first);
    } else {
      if (a->second != b->second) names.push_back(a->first);
      ++a, ++b;
    }
  }
  return names;
}

}  // namespace onceproof
