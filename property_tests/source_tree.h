// The source tree as values, so that a rule can be shown a small bad tree as well as the real one.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace onceproof::property_tests {

struct SourceFile {
  std::string path;  // from the root, with '/'
  std::string text;
};

// Every file of the house, sorted by path, without build/ and the reports. Only C++ sources, CMake
// lists, pages, scripts and scenarios bring their text; the rest is there by name.
using SourceTree = std::vector<SourceFile>;
// Errors: io_failed, naming the file.
Result<SourceTree> read_tree(const std::filesystem::path& root);
// nullptr if it is not there.
const SourceFile* find_file(const SourceTree& tree, std::string_view path);

bool is_header(const SourceFile& file);
bool is_cpp(const SourceFile& file);
bool is_test(const SourceFile& file);
bool is_page(const SourceFile& file);

}  // namespace onceproof::property_tests
