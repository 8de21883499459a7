#include "property_tests/source_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/file.h"

namespace onceproof::property_tests {
namespace {

namespace fs = std::filesystem;

bool is_text_of_the_house(const fs::path& path) {
  static const std::set<std::string> kExtensions{".h",     ".cc",   ".md",   ".txt",
                                                 ".cmake", ".yaml", ".json", ".sh"};
  return kExtensions.contains(path.extension().string()) || path.filename() == "dev" ||
         path.parent_path().filename() == ".ci";
}

}  // namespace

Result<SourceTree> read_tree(const fs::path& root) {
  static const std::set<std::string> kSkipped{"build", ".git", "reports/out", "onceproof-reports"};
  SourceTree tree;
  std::error_code ec;
  fs::recursive_directory_iterator at(root, ec);
  for (; !ec && at != fs::recursive_directory_iterator(); at.increment(ec)) {
    const auto path = at->path().lexically_relative(root).generic_string();
    if (at->is_directory()) {
      if (kSkipped.contains(path)) at.disable_recursion_pending();
      continue;
    }
    if (!at->is_regular_file()) continue;
    SourceFile file{path, {}};
    if (is_text_of_the_house(at->path())) {
      auto text = read_file(at->path());
      if (!text) return tl::unexpected(text.error());
      file.text = std::move(*text);
    }
    tree.push_back(std::move(file));
  }
  if (ec) {
    return fail(ErrorCode::io_failed,
                fmt::format("cannot read {}: {}", root.string(), ec.message()));
  }
  std::ranges::sort(tree, {}, &SourceFile::path);
  return tree;
}

const SourceFile* find_file(const SourceTree& tree, std::string_view path) {
  const auto found = std::ranges::lower_bound(tree, path, {}, &SourceFile::path);
  return found == tree.end() || found->path != path ? nullptr : &*found;
}

bool is_header(const SourceFile& file) {
  return file.path.ends_with(".h");
}
bool is_cpp(const SourceFile& file) {
  return is_header(file) || file.path.ends_with(".cc");
}
bool is_test(const SourceFile& file) {
  return file.path.ends_with("_test.cc");
}
bool is_page(const SourceFile& file) {
  return file.path.ends_with(".md");
}

}  // namespace onceproof::property_tests
