// The rules of the house that a program can check: layers, banned words, sizes, headers, lists.
// Invariant: a rule is a pure function of the tree's texts; each rule is rung by a bad sample in
// tidy_test.cc. To add a rule: write a function in house_rules.cc, add a row to the array at its
// end, add samples to tidy_test.cc. The tables (layers, bans, third-party headers, sizes) stand in
// house_tables.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "property_tests/source_tree.h"

namespace onceproof::property_tests {

struct Finding {
  std::string path;
  int line = 0;
  std::string message;  // what is wrong and what would be right
};
std::string to_text(const Finding& finding);  // "path:line: message"

struct HouseRule {
  std::string_view name;  // CamelCase: it is part of a test's name
  void (*check)(const SourceTree& tree, std::vector<Finding>& findings);
};
std::span<const HouseRule> house_rules();

}  // namespace onceproof::property_tests
