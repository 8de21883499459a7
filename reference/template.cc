#include "reference/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace onceproof {
namespace {

constexpr std::string_view kOpen = "${";
constexpr std::array<std::string_view, 4> kNames{"external_id", "operation_key", "intent",
                                                 "tenant"};
constexpr std::array<std::string_view, 2> kObjects{"params.", "result."};

// The text of the next place at or after `from`; nullopt: none.
struct Place {
  std::size_t begin = 0, end = 0;  // of "${name}"
  std::string_view name;
  bool closed = true;
};
std::optional<Place> next_place(std::string_view text, std::size_t from) {
  const auto begin = text.find(kOpen, from);
  if (begin == std::string_view::npos) return std::nullopt;
  const auto close = text.find('}', begin);
  if (close == std::string_view::npos) return Place{begin, text.size(), {}, false};
  const auto name_at = begin + kOpen.size();
  return Place{begin, close + 1, text.substr(name_at, close - name_at), true};
}

bool is_known(std::string_view name) {
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kObjects, [&](std::string_view object) {
           return name.starts_with(object) && name.size() > object.size();
         });
}

// Calls `visit` with every text of the value, keys excepted.
template <typename Visit>
void visit_texts(const Json& value, Visit&& visit) {
  if (value.is_string()) return visit(value.get_ref<const std::string&>());
  if (!value.is_structured()) return;
  for (const auto& member : value) visit_texts(member, visit);
}

template <typename Visit>
void visit_places(const Json& value, Visit&& visit) {
  visit_texts(value, [&](const std::string& text) {
    for (auto place = next_place(text, 0); place; place = next_place(text, place->end)) {
      visit(*place);
    }
  });
}

// "params.order.id" in the scope; nullptr: not there.
const Json* find_path(const Json& scope, std::string_view path) {
  const Json* at = &scope;
  while (at != nullptr) {
    const auto dot = path.find('.');
    at = find_member(*at, std::string(path.substr(0, dot)));
    if (dot == std::string_view::npos) return at;
    path.remove_prefix(dot + 1);
  }
  return nullptr;
}

Result<Json> fill_text(const std::string& text, const Json& scope) {
  std::string filled;
  std::size_t done = 0;
  for (auto place = next_place(text, 0); place; place = next_place(text, place->end)) {
    const Json* value = find_path(scope, place->name);
    if (value == nullptr || value->is_null()) {
      return fail(ErrorCode::not_found,
                  fmt::format("${{{}}}: there is none", escape_terminal(shorten(place->name, 80))));
    }
    if (place->begin == 0 && place->end == text.size()) return *value;
    filled += text.substr(done, place->begin - done);
    filled += value->is_string() ? value->get<std::string>() : to_line(*value);
    done = place->end;
  }
  return Json(filled + text.substr(done));
}

}  // namespace

std::optional<std::string> find_template_mistake(const Json& value) {
  std::optional<std::string> mistake;
  visit_places(value, [&](const Place& place) {
    if (mistake || (place.closed && is_known(place.name))) return;
    if (!place.closed) {
      mistake = "a ${ has no } behind it";
      return;
    }
    mistake = fmt::format(
        "${{{}}} names nothing; there are ${{external_id}}, ${{operation_key}}, "
        "${{intent}}, ${{tenant}}, ${{params.NAME}} and ${{result.NAME}}",
        escape_terminal(shorten(place.name, 80)));
  });
  return mistake;
}

std::set<std::string> template_result_fields(const Json& value) {
  std::set<std::string> fields;
  visit_places(value, [&](const Place& place) {
    constexpr std::string_view kResult = "result.";
    if (!place.name.starts_with(kResult)) return;
    const auto path = place.name.substr(kResult.size());
    fields.emplace(path.substr(0, path.find('.')));
  });
  return fields;
}

bool template_uses_params(const Json& value) {
  bool uses = false;
  visit_places(value, [&](const Place& place) { uses |= place.name.starts_with(kObjects[0]); });
  return uses;
}

Json to_json(TemplateScope scope) {
  return {{"external_id", std::move(scope.external_id)},
          {"operation_key", std::move(scope.operation_key)},
          {"intent", std::move(scope.intent)},
          {"tenant", std::move(scope.tenant)},
          {"params", std::move(scope.params)},
          {"result", std::move(scope.result)}};
}

Result<Json> fill_template(const Json& value, const Json& scope) {
  if (value.is_string()) return fill_text(value.get_ref<const std::string&>(), scope);
  if (!value.is_structured()) return value;
  Json filled = value;
  for (auto& member : filled) {
    auto one = fill_template(member, scope);
    if (!one) return one;
    member = std::move(*one);
  }
  return filled;
}

}  // namespace onceproof
