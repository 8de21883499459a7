// docs/faults.md against the code: every text in it is a fault, and every point, action and kind of
// the taxonomy is in it.
#include <gtest/gtest.h>

#include <regex>

#include "base/file.h"
#include "base/text.h"
#include "faults/fault.h"

namespace onceproof::faults {
namespace {

std::string page() {
  auto text = read_file(std::string(ONCEPROOF_DOCS) + "/faults.md");
  EXPECT_TRUE(text.has_value());
  return text.value_or("");
}

// What stands in quotes of any kind, or on an indented line, and has a point in it.
std::vector<std::string> texts(const std::string& page) {
  static const std::regex kQuoted(R"([`']([^`'\n]+\.[^`'\n]+@[a-z_]+ [^`'\n]+)[`'])");
  std::vector<std::string> found;
  for (std::sregex_iterator it(page.begin(), page.end(), kQuoted), end; it != end; ++it) {
    if ((*it)[1].str().starts_with("SERVICE")) continue;
    found.push_back((*it)[1]);
  }
  for (std::size_t at = 0; at < page.size();) {
    const auto end = std::min(page.find('\n', at), page.size());
    const auto line = page.substr(at, end - at);
    if (line.starts_with("    ") && !line.starts_with("    $") && line.find('@') != line.npos) {
      found.emplace_back(trim(line));
    }
    at = end + 1;
  }
  return found;
}

TEST(FaultsDocTest, EveryTextInItIsAFault) {
  const auto all = texts(page());
  EXPECT_GE(all.size(), 40U);
  for (const auto& text : all) {
    const auto fault = fault_from_text(text);
    EXPECT_TRUE(fault.has_value()) << text << "\n" << fault.error().message;
  }
}

TEST(FaultsDocTest, EveryPointAndActionHasItsRow) {
  const auto text = page();
  for (const auto name : point_names()) {
    EXPECT_NE(text.find("\n| `" + std::string(name) + "` |"), std::string::npos) << name;
  }
  for (const auto& spec : action_specs()) {
    std::string row = "\n| `" + std::string(spec.name);
    if (!spec.parameters.empty()) {
      row += "(";
      for (const auto& parameter : spec.parameters) {
        if (&parameter != &spec.parameters.front()) row += ", ";
        row += parameter.name == "content_type" ? "type" : parameter.name;
      }
      row += ")";
    }
    EXPECT_NE(text.find(row + "` |"), std::string::npos) << row;
  }
}

TEST(FaultsDocTest, EveryKindOfTheTaxonomyHasItsPlace) {
  constexpr int kLast[] = {1, 1, 4, 6, 3, 3, 6, 8, 3, 1, 7, 9, 6, 3, 4, 3, 6, 4, 1};
  const auto text = page();
  for (int group = 0; group < 19; ++group) {
    for (int kind = 1; kind <= kLast[group]; ++kind) {
      const std::regex row("\\n\\| [^|]*\\bF" + std::to_string(group) + "\\." +
                           std::to_string(kind) + "\\b[^|]* \\|");
      EXPECT_TRUE(std::regex_search(text, row)) << "F" << group << "." << kind;
    }
  }
}

}  // namespace
}  // namespace onceproof::faults
