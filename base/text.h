// Making untrusted text safe to show. Everything a SUT, a file or a user wrote passes one of these
// before it is printed. And the little that several folders do to texts.
#pragma once

#include <string>
#include <string_view>

namespace onceproof {

// For a terminal: control characters, escape sequences and bytes that are not UTF-8 become visible
// escapes (\x1b, \n), and so do the invisible characters that could make a line read backwards
// (\u202e).
std::string escape_terminal(std::string_view text);
// For XML 1.0 text and attributes: & < > " ' escaped, characters that XML forbids become U+FFFD.
std::string escape_xml(std::string_view text);
// At most `max_bytes` bytes, the mark included: cut at a character and marked with "…"; empty if
// not even that fits.
std::string shorten(std::string_view text, std::size_t max_bytes);
// One word of a POSIX shell's command line; in quotes if it needs them. Safe for a terminal too: a
// word that escape_terminal() would change is written as $'...' with octal escapes, which bash, zsh
// and POSIX.1-2024 read.
std::string quote_shell(std::string_view word);
// ASCII letters only; other bytes stay.
// A header's name, a method: not empty, RFC 9110, section 5.6.2.
bool is_http_token(std::string_view text);
std::string to_lower(std::string_view text);
// Without the `spaces` at both ends.
std::string_view trim(std::string_view text, std::string_view spaces = " \t");

}  // namespace onceproof
