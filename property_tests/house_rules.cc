#include "property_tests/house_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "property_tests/house_tables.h"
#include "property_tests/source_text.h"

namespace onceproof::property_tests {
namespace {

namespace fs = std::filesystem;
using Findings = std::vector<Finding>;

bool starts_with_one_of(std::string_view path, const Names& beginnings) {
  return std::ranges::any_of(beginnings, [&](auto b) { return path.starts_with(b); });
}

const Layer* layer_of(std::string_view path) {
  const Layer* best = nullptr;
  for (const auto& layer : kLayers) {
    const bool inside =
        path.starts_with(layer.folder) && path.substr(layer.folder.size()).starts_with('/');
    if (inside && (best == nullptr || layer.folder.size() > best->folder.size())) best = &layer;
  }
  return best;
}

struct Include {
  int line;
  bool angle;
  std::string_view name;
};

std::vector<Include> includes_of(const SourceFile& file) {
  static constexpr std::string_view kWord = "#include ";
  std::vector<Include> includes;
  const std::string code = split_source(file.text).code;
  for (auto at = code.find(kWord); at != std::string::npos; at = code.find(kWord, at + 1)) {
    std::string_view rest = std::string_view(file.text).substr(at + kWord.size());
    rest = rest.substr(0, rest.find('\n'));
    const auto end = rest.size() < 2 ? std::string_view::npos : rest.find_first_of("\">", 1);
    if (end == std::string_view::npos) continue;
    includes.push_back({line_at(file.text, at), rest[0] == '<', rest.substr(1, end - 1)});
  }
  return includes;
}

void check_layers(const SourceTree& tree, Findings& findings) {
  for (const auto& file : tree) {
    if (!is_cpp(file)) continue;
    const Layer* layer = layer_of(file.path);
    if (layer == nullptr) {
      findings.push_back({file.path, 1, "stands in no layer; add its folder to kLayers"});
      continue;
    }
    for (const auto& include : includes_of(file)) {
      if (include.angle) continue;
      const Layer* other = layer_of(include.name);
      if (other == nullptr) {
        findings.push_back(
            {file.path, include.line,
             fmt::format("includes \"{}\"; write includes from the root", include.name)});
      } else if (std::ranges::find(layer->may_include, other->folder) == layer->may_include.end()) {
        findings.push_back({file.path, include.line,
                            fmt::format("{} must not include {} (\"{}\")", layer->folder,
                                        other->folder, include.name)});
      }
    }
  }
}

void check_banned_words(const SourceTree& tree, Findings& findings) {
  for (const auto& file : tree) {
    if (!is_cpp(file)) continue;
    const std::string code = split_source(file.text).code;
    for (const auto& ban : kBans) {
      if (starts_with_one_of(file.path, ban.allowed_under)) continue;
      for (const auto at : find_words(code, ban.word)) {
        if (ban.word == "std::thread" && code.compare(at + ban.word.size(), 2, "::") == 0) continue;
        findings.push_back(
            {file.path, line_at(code, at), fmt::format("{}: {}", ban.word, ban.instead)});
      }
    }
  }
}

// Names that `code` declares as std::unordered_*: what follows the closing '>' of the type.
std::vector<std::string> unordered_names(std::string_view code) {
  std::vector<std::string> names;
  for (auto at = code.find("std::unordered_"); at != std::string_view::npos;
       at = code.find("std::unordered_", at + 1)) {
    auto end = code.find_first_of("<;", at);
    int depth = 0;
    for (; end < code.size(); ++end) {
      depth += code[end] == '<' ? 1 : code[end] == '>' ? -1 : 0;
      if (depth == 0) break;
    }
    const auto from = code.find_first_not_of("> &*\n", end);
    if (from == std::string_view::npos) continue;
    const auto to = code.find_first_not_of(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", from);
    if (to > from) names.emplace_back(code.substr(from, to - from));
  }
  return names;
}

void check_iteration(const SourceTree& tree, Findings& findings) {
  for (const auto& file : tree) {
    if (!is_cpp(file) || file.path.starts_with("base/")) continue;
    const std::string code = split_source(file.text).code;
    auto names = unordered_names(code);
    // A source's members stand in the header beside it.
    const auto* header =
        find_file(tree, fs::path(file.path).replace_extension(".h").generic_string());
    if (header != nullptr && header != &file) {
      std::ranges::move(unordered_names(split_source(header->text).code),
                        std::back_inserter(names));
    }
    for (const auto& name : names) {
      for (const auto* form : {": {})", "{}.begin()"}) {
        for (const auto at : find_words(code, fmt::format(fmt::runtime(form), name))) {
          findings.push_back(
              {file.path, line_at(code, at),
               fmt::format("iterates over the unordered '{}'; its order differs from run "
                           "to run: sort, or use std::map",
                           name)});
        }
      }
    }
  }
}

void check_skipped_tests(const SourceTree& tree, Findings& findings) {
  for (const auto& file : tree) {
    if (!is_cpp(file)) continue;
    const std::string code = split_source(file.text).code;
    for (const auto at : find_words(code, "GTEST_SKIP")) {
      const auto next = code.find_first_not_of("() \n", at + 10);
      if (next == std::string::npos || code.compare(next, 2, "<<") != 0) {
        findings.push_back(
            {file.path, line_at(code, at), "GTEST_SKIP needs its reason: << \"...\""});
      }
    }
  }
}

void check_unfinished(const SourceTree& tree, Findings& findings) {
  for (const auto& file : tree) {
    // In C++ the words may stand in literals (this rule's own do); elsewhere nowhere.
    std::string text = file.text;
    if (is_cpp(file)) {
      const SourceText parts = split_source(file.text);
      text = parts.code;
      for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == ' ') text[i] = parts.comments[i];
      }
    }
    for (const auto* word : {"TODO", "FIXME", "XXX", "HACK"}) {
      for (const auto at : find_words(text, word)) {
        findings.push_back(
            {file.path, line_at(text, at), fmt::format("{}: finish it, or say why not", word)});
      }
    }
  }
}

void check_catch_all(const SourceTree& tree, Findings& findings) {
  for (const auto& file : tree) {
    if (!is_cpp(file) || file.path == "cli/main.cc") continue;
    const auto parts = split_source(file.text);
    const auto comments = lines_of(parts.comments);
    for (const auto at : find_words(parts.code, "catch (...)")) {
      const auto line = static_cast<std::size_t>(line_at(parts.code, at));
      const bool here = comments[line - 1].find("thread entry") != std::string_view::npos;
      const bool above =
          line > 1 && comments[line - 2].find("thread entry") != std::string_view::npos;
      if (here || above) continue;
      findings.push_back(
          {file.path, static_cast<int>(line),
           "catch (...) is for main and for thread entries; mark a thread entry with a "
           "comment that says \"thread entry\""});
    }
  }
}

void check_sizes(const SourceTree& tree, Findings& findings) {
  for (const auto& file : tree) {
    std::size_t most = is_cpp(file) ? (is_test(file) ? kMaxTestLines : kMaxLines) : SIZE_MAX;
    if (file.path == "README.md") most = kMaxReadmeLines;
    if (file.path == "ARCHITECTURE.md") most = kMaxArchitectureLines;
    const auto lines = lines_of(file.text).size();
    if (lines > most) {
      findings.push_back(
          {file.path, static_cast<int>(most + 1),
           fmt::format("{} lines; at most {}: which two nouns is it?", lines, most)});
    }
  }
}

void check_columns(const SourceTree& tree, Findings& findings) {
  for (const auto& file : tree) {
    if (!is_cpp(file)) continue;
    const auto parts = split_source(file.text);
    const auto lines = lines_of(file.text);
    for (std::size_t i = 0, offset = 0; i < lines.size(); offset += lines[i].size() + 1, ++i) {
      if (columns_of(lines[i]) <= kMaxColumns) continue;
      if (lines[i].find("R\"(") != std::string_view::npos) continue;  // nothing can break it
      const auto blank = [&](const std::string& part) {
        return part.find_first_not_of(' ', offset) >= offset + lines[i].size();
      };
      if (blank(parts.code) && blank(parts.comments)) continue;  // inside a raw string
      findings.push_back(
          {file.path, static_cast<int>(i + 1),
           fmt::format("{} columns; at most {}", columns_of(lines[i]), kMaxColumns)});
    }
  }
}

void check_headers(const SourceTree& tree, Findings& findings) {
  for (const auto& file : tree) {
    if (!is_header(file)) continue;
    if (!file.text.starts_with("// ")) {
      findings.push_back({file.path, 1, "the first line says in a comment what the header is for"});
    }
    const auto lines = lines_of(file.text);
    if (std::ranges::count(lines, std::string_view("#pragma once")) != 1) {
      findings.push_back({file.path, 1, "needs #pragma once, one time"});
    }
  }
}

const ThirdParty* library_of(const Include& include) {
  const auto found = std::ranges::find_if(
      kThirdParty, [&](const auto& library) { return include.name.starts_with(library.header); });
  return found == kThirdParty.end() ? nullptr : &*found;
}

bool is_system(const Include& include) {
  return include.name.find('/') == std::string_view::npos ||
         std::ranges::any_of(kSystemFolders, [&](auto f) { return include.name.starts_with(f); });
}

void check_third_party(const SourceTree& tree, Findings& findings) {
  for (const auto& file : tree) {
    if (!is_cpp(file)) continue;
    for (const auto& include : includes_of(file)) {
      if (!include.angle) continue;
      const ThirdParty* library = library_of(include);
      if (library == nullptr) {
        if (is_system(include)) continue;
        findings.push_back({file.path, include.line,
                            fmt::format("<{}> is of no library in kThirdParty", include.name)});
      } else if (!(library->tests && is_test(file)) &&
                 !starts_with_one_of(file.path, library->files)) {
        findings.push_back(
            {file.path, include.line,
             fmt::format("<{}> may stand only in {}{}", include.name,
                         fmt::join(library->files, ", "), library->tests ? " and tests" : "")});
      }
    }
  }
}

// The list that names `path`'s folder or the nearest folder above it that has one.
const SourceFile* cmake_list_of(const SourceTree& tree, const std::string& path) {
  for (fs::path folder = fs::path(path).parent_path(); !folder.empty();
       folder = folder.parent_path()) {
    const std::string name = (folder / "CMakeLists.txt").generic_string();
    if (const auto* list = find_file(tree, name)) return list;
  }
  return nullptr;
}

void check_cmake_lists(const SourceTree& tree, Findings& findings) {
  for (const auto& file : tree) {
    if (!file.path.ends_with(".cc")) continue;
    const SourceFile* list = cmake_list_of(tree, file.path);
    if (list == nullptr) {
      findings.push_back(
          {file.path, 1, "no CMakeLists.txt in its folder or above: it is never built"});
      continue;
    }
    const std::string name =
        fs::path(file.path).lexically_relative(fs::path(list->path).parent_path()).generic_string();
    std::vector<std::string_view> tokens;
    for (const auto line : lines_of(list->text)) {
      std::string_view rest = line.substr(0, line.find('#'));
      while (!rest.empty()) {
        const auto end = rest.find_first_of(" ()\"");
        tokens.push_back(rest.substr(0, end));
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      }
    }
    if (std::ranges::find(tokens, std::string_view(name)) == tokens.end()) {
      findings.push_back(
          {file.path, 1, fmt::format("not listed in {}: it is never built", list->path)});
    }
  }
}

struct Link {
  std::string target;  // a path from the root
  int line;
};

// [text](target) of a page, without those that leave the tree and without anchors.
std::vector<Link> links_of(const SourceFile& page) {
  std::vector<Link> links;
  const std::string_view text = page.text;
  for (auto at = text.find("]("); at != std::string_view::npos; at = text.find("](", at + 1)) {
    const auto end = text.find_first_of(")#\n", at);
    std::string_view target =
        text.substr(at + 2, end == std::string_view::npos ? end : end - at - 2);
    if (target.empty() || target.find(':') != std::string_view::npos) continue;
    const auto path = (fs::path(page.path).parent_path() / target).lexically_normal();
    links.push_back({path.generic_string(), line_at(text, at)});
  }
  return links;
}

void check_pages(const SourceTree& tree, Findings& findings) {
  std::set<std::string> linked;
  for (const auto& page : tree) {
    if (!is_page(page)) continue;
    for (const auto& link : links_of(page)) {
      if (link.target != page.path) linked.insert(link.target);
      const std::string as_folder = link.target.ends_with('/') ? link.target : link.target + "/";
      const bool exists = std::ranges::any_of(tree, [&](const SourceFile& file) {
        return file.path == link.target || file.path.starts_with(as_folder);
      });
      if (!exists) {
        findings.push_back(
            {page.path, link.line, fmt::format("links to {}, which is not there", link.target)});
      }
    }
  }
  for (const auto& page : tree) {
    if (is_page(page) && page.path.starts_with("docs/") && !linked.contains(page.path)) {
      findings.push_back({page.path, 1, "no page links to it; a reader will not find it"});
    }
  }
}

constexpr std::array kRules{
    HouseRule{"Layers", check_layers},
    HouseRule{"BannedWords", check_banned_words},
    HouseRule{"IterationOverUnordered", check_iteration},
    HouseRule{"SkippedTests", check_skipped_tests},
    HouseRule{"UnfinishedWork", check_unfinished},
    HouseRule{"CatchAll", check_catch_all},
    HouseRule{"Sizes", check_sizes},
    HouseRule{"Columns", check_columns},
    HouseRule{"Headers", check_headers},
    HouseRule{"ThirdPartyHeaders", check_third_party},
    HouseRule{"CMakeLists", check_cmake_lists},
    HouseRule{"Pages", check_pages},
};

}  // namespace

std::string to_text(const Finding& finding) {
  return fmt::format("{}:{}: {}", finding.path, finding.line, finding.message);
}

std::span<const HouseRule> house_rules() {
  return kRules;
}

}  // namespace onceproof::property_tests
