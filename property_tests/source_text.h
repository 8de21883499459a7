// C++ source as text for the house rules: what is code, what is comment, what stands in quotes.
// Invariant: every view has the length and the line breaks of the source, so that an offset gives
// the same line in all. Not a parser: it knows comments, string and character literals (raw ones
// too), and nothing of the grammar.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace onceproof::property_tests {

struct SourceText {
  std::string code;      // comments and the insides of literals are blanks
  std::string comments;  // all but comments is blanks
};

SourceText split_source(std::string_view text);

// The number, from 1, of the line that holds `offset`.
int line_at(std::string_view text, std::size_t offset);
std::vector<std::string_view> lines_of(std::string_view text);
// What a reader counts as columns: UTF-8 characters, not bytes.
std::size_t columns_of(std::string_view line);

// Offsets at which `word` stands by itself: not as a part of a longer identifier. A * at its
// beginning or end allows more identifier characters there.
std::vector<std::size_t> find_words(std::string_view text, std::string_view word);

}  // namespace onceproof::property_tests
