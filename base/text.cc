#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace onceproof {
namespace {

struct Character {
  std::size_t bytes = 0;  // 0: not UTF-8 here
  std::uint32_t code_point = 0;
};

// Decodes one UTF-8 character. Overlong forms, surrogates and values beyond U+10FFFF are refused
// (RFC 3629).
Character decode(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {1, first};
  std::size_t bytes = 0;
  std::uint32_t code_point = 0;
  std::uint32_t smallest = 0;
  if ((first & 0xe0) == 0xc0) {
    bytes = 2, code_point = first & 0x1fU, smallest = 0x80;
  } else if ((first & 0xf0) == 0xe0) {
    bytes = 3, code_point = first & 0x0fU, smallest = 0x800;
  } else if ((first & 0xf8) == 0xf0) {
    bytes = 4, code_point = first & 0x07U, smallest = 0x10000;
  }
  if (bytes == 0 || text.size() < bytes) return {};
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return {};
    code_point = (code_point << 6) | (next & 0x3fU);
  }
  const bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  if (code_point < smallest || code_point > 0x10ffff || surrogate) return {};
  return {bytes, code_point};
}

std::string quote_control_characters(std::string_view word) {
  std::string text = "$'";
  while (!word.empty()) {
    const auto character = word.substr(0, std::max<std::size_t>(decode(word).bytes, 1));
    word.remove_prefix(character.size());
    if (character == "'" || character == "\\") {
      text.append("\\").append(character);
    } else if (escape_terminal(character) == character) {
      text += character;
    } else {
      for (const char c : character) text += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return text + "'";
}

}  // namespace

std::string escape_terminal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Character c = decode(text.substr(i));
    if (c.bytes == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
      ++i;
      continue;
    }
    const bool control = c.code_point < 0x20 || (c.code_point >= 0x7f && c.code_point < 0xa0);
    // Bidirectional overrides could make a report read backwards.
    const bool bidi =
        (c.code_point >= 0x2028 && c.code_point <= 0x202e) ||  // and two line separators
        (c.code_point >= 0x2066 && c.code_point <= 0x2069) || c.code_point == 0x200e ||
        c.code_point == 0x200f || c.code_point == 0x061c;
    if (c.code_point == '\n') {
      out += "\\n";
    } else if (control) {
      out += fmt::format("\\x{:02x}", c.code_point);
    } else if (bidi) {
      out += fmt::format("\\u{:04x}", c.code_point);
    } else {
      out += text.substr(i, c.bytes);
    }
    i += c.bytes;
  }
  return out;
}

std::string escape_xml(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (std::size_t i = 0; i < text.size();) {
    const Character c = decode(text.substr(i));
    const std::size_t bytes = c.bytes == 0 ? 1 : c.bytes;
    const bool forbidden = c.bytes == 0 || c.code_point == 0xfffe || c.code_point == 0xffff ||
                           (c.code_point < 0x20 && c.code_point != '\t' && c.code_point != '\n');
    if (forbidden) {
      out += "\xef\xbf\xbd";
    } else if (c.code_point == '&') {
      out += "&amp;";
    } else if (c.code_point == '<') {
      out += "&lt;";
    } else if (c.code_point == '>') {
      out += "&gt;";
    } else if (c.code_point == '"') {
      out += "&quot;";
    } else if (c.code_point == '\'') {
      out += "&#39;";
    } else {
      out += text.substr(i, bytes);
    }
    i += bytes;
  }
  return out;
}

std::string shorten(std::string_view text, std::size_t max_bytes) {
  static constexpr std::string_view kMark = "…";
  if (text.size() <= max_bytes) return std::string(text);
  if (max_bytes < kMark.size()) return {};
  std::size_t end = max_bytes - kMark.size();
  // A character has at most three bytes after its first; more of them is not UTF-8, and is cut
  // anywhere.
  for (int back = 0; back < 3 && end > 0; ++back) {
    if ((static_cast<unsigned char>(text[end]) & 0xc0) != 0x80) break;
    --end;
  }
  return std::string(text.substr(0, end)).append(kMark);
}

std::string quote_shell(std::string_view word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_-./=:@%+,") == std::string_view::npos;
  if (plain) return std::string(word);
  if (escape_terminal(word) != word) return quote_control_characters(word);
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

bool is_http_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

std::string to_lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string_view trim(std::string_view text, std::string_view spaces) {
  const auto first = text.find_first_not_of(spaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

}  // namespace onceproof
