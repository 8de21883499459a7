#include "reference/settings.h"

#include <fmt/format.h>

#include <array>

namespace onceproof {
namespace {

YamlValue tree(const Json& json) {
  YamlValue value;
  switch (json.type()) {
    case Json::value_t::null:
      break;
    case Json::value_t::object:
      value.kind = YamlValue::Kind::map;
      for (const auto& [name, member] : json.items()) {
        YamlValue key;
        key.kind = YamlValue::Kind::scalar;
        key.text = name;
        value.members.push_back({std::move(key), tree(member)});
      }
      break;
    case Json::value_t::array:
      value.kind = YamlValue::Kind::list;
      for (const auto& item : json) value.items.push_back(tree(item));
      break;
    case Json::value_t::string:
      value.kind = YamlValue::Kind::scalar;
      value.text = json.get<std::string>();
      value.quoted = true;
      break;
    default:
      value.kind = YamlValue::Kind::scalar;
      value.text = to_line(json);
      break;
  }
  return value;
}

struct Unit {
  std::string_view suffix;
  Milliseconds one;
};
constexpr std::array kUnits{Unit{"_ms", Milliseconds{1}}, Unit{"_seconds", Milliseconds{1000}}};

}  // namespace

std::unique_ptr<YamlDocument> document_from_json(const Json& json, std::string name) {
  auto document = std::make_unique<YamlDocument>();
  document->file = std::move(name);
  document->root = tree(json);
  return document;
}

std::optional<Milliseconds> find_duration(YamlCursor& map, std::string_view name,
                                          Milliseconds least, Milliseconds most) {
  std::optional<Milliseconds> found;
  const auto take = [&](const YamlCursor& at, Milliseconds value) {
    if (found) {
      at.complain(fmt::format("the same duration is written twice; write {} only once", name));
    } else if (value < least || value > most) {
      at.complain(
          fmt::format("{} is outside {} to {}", to_text(value), to_text(least), to_text(most)));
    }
    found = value;
  };
  if (auto at = map.find(name)) take(*at, at->duration());
  for (const Unit& unit : kUnits) {
    auto at = map.find(fmt::format("{}{}", name, unit.suffix));
    if (at) take(*at, unit.one * at->integer(0, most / unit.one));
  }
  return found;
}

}  // namespace onceproof
