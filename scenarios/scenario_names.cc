#include "scenarios/scenario_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/services.h"

namespace onceproof::scenarios {
namespace {

constexpr std::size_t kMaxKey = 200;

}  // namespace

std::string read_name(YamlCursor at, std::string_view also, std::size_t longest) {
  std::string name = at.text();
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const bool good =
      !name.empty() && name.size() <= longest && is_letter(name[0]) &&
      std::ranges::all_of(name, [&](char c) {
        return is_letter(c) || (c >= '0' && c <= '9') || also.find(c) != std::string_view::npos;
      });
  if (!good) {
    at.complain(fmt::format(
        "a name begins with a letter and has letters, digits and '{}', {} at most", also, longest));
  }
  return name;
}

std::string read_key(YamlCursor at) {
  std::string key = at.text();
  const bool visible = std::ranges::all_of(key, [](char c) { return c > 0x20 && c < 0x7f; });
  if (key.empty() || key.size() > kMaxKey || !visible) {
    at.complain(fmt::format("expected 1 to {} visible ASCII characters", kMaxKey));
  }
  return key;
}

std::vector<std::string> service_names() {
  std::vector<std::string> names;
  for (const auto& row : actions()) {
    if (std::ranges::find(names, row.service) == names.end()) names.emplace_back(row.service);
  }
  return names;
}

}  // namespace onceproof::scenarios
