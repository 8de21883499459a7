#include "property_tests/source_text.h"

#include <algorithm>

namespace onceproof::property_tests {
namespace {

bool is_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Walks the source once. `code_` and `comments_` start as blanks; each stretch is copied to where
// it belongs.
class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {
    parts_.code.assign(text.size(), ' ');
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') parts_.code[i] = '\n';
    }
    parts_.comments = parts_.code;
  }

  SourceText split() {
    while (at_ < text_.size()) {
      if (starts("//")) {
        take_until(text_.find('\n', at_), parts_.comments);
      } else if (starts("/*")) {
        take_until(after(text_.find("*/", at_ + 2), 2), parts_.comments);
      } else if (starts("R\"") && (at_ == 0 || !is_identifier(text_[at_ - 1]))) {
        skip_raw_string();
      } else if (text_[at_] == '"' || (text_[at_] == '\'' && !is_digit_separator())) {
        skip_literal(text_[at_]);
      } else {
        take_until(at_ + 1, parts_.code);
      }
    }
    return std::move(parts_);
  }

 private:
  bool starts(std::string_view token) const { return text_.substr(at_).starts_with(token); }
  static std::size_t after(std::size_t found, std::size_t length) {
    return found == std::string_view::npos ? found : found + length;
  }
  bool is_digit_separator() const {  // 1'000; a literal such as u'x' does not occur in this house
    return at_ > 0 && is_identifier(text_[at_ - 1]);
  }
  void take_until(std::size_t end, std::string& part) {
    end = std::min(end, text_.size());
    part.replace(at_, end - at_, text_.substr(at_, end - at_));
    at_ = end;
  }
  void skip_until(std::size_t end) { at_ = std::min(end, text_.size()); }

  void skip_literal(char quote) {
    parts_.code[at_++] = quote;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
    if (at_ < text_.size() && text_[at_] == quote) parts_.code[at_++] = quote;
  }

  void skip_raw_string() {
    const auto open = text_.find('(', at_);
    if (open == std::string_view::npos) return skip_until(text_.size());
    const std::string close = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
    parts_.code[at_] = '"';
    skip_until(after(text_.find(close, open), close.size()));
    parts_.code[at_ - 1] = '"';
  }

  std::string_view text_;
  std::size_t at_ = 0;
  SourceText parts_;
};

}  // namespace

SourceText split_source(std::string_view text) {
  return Splitter(text).split();
}

int line_at(std::string_view text, std::size_t offset) {
  const auto before = text.substr(0, offset);
  return 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::size_t columns_of(std::string_view line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::vector<std::size_t> find_words(std::string_view text, std::string_view word) {
  const bool any_left = word.starts_with('*');
  const bool any_right = word.ends_with('*');
  if (any_left) word.remove_prefix(1);
  if (any_right) word.remove_suffix(1);
  std::vector<std::size_t> offsets;
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    const bool more_left = at > 0 && is_identifier(word.front()) && is_identifier(text[at - 1]);
    const bool more_right =
        end < text.size() && is_identifier(word.back()) && is_identifier(text[end]);
    if ((any_left || !more_left) && (any_right || !more_right)) offsets.push_back(at);
  }
  return offsets;
}

}  // namespace onceproof::property_tests
