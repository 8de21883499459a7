#include "reference/idempotency_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "reference/operation.h"

namespace onceproof {
namespace {

tl::unexpected<Error> wrong(std::string_view what) {
  return fail(ErrorCode::invalid_argument, fmt::format("Idempotency-Key: {}", what));
}

// Behind the string only parameters may stand, and none of them means anything to us.
Result<std::string> parse_quoted(std::string_view text) {
  std::string key;
  for (std::size_t i = 1; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      const auto rest = trim(text.substr(i + 1));
      if (rest.empty() || rest.front() == ';') return key;
      return wrong(rest.front() == ',' ? "a list; send one key" : "text behind the closing quote");
    }
    if (c == '\\') {
      if (++i == text.size() || (text[i] != '"' && text[i] != '\\')) {
        return wrong("a backslash stands before a quote or a backslash only");
      }
      c = text[i];
    }
    if (c < 0x20 || c > 0x7e) return wrong("a character that is not printable ASCII");
    key += c;
  }
  return wrong("the closing quote is missing");
}

Result<std::string> parse_bare(std::string_view text) {
  if (text.find(',') != text.npos) return wrong("a list; send one key");
  const bool visible =
      std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f && c != '"'; });
  if (!visible) return wrong("without quotes, only visible ASCII characters and no quote");
  return std::string(text);
}

}  // namespace

Result<std::string> parse_idempotency_key(std::span<const std::string> lines) {
  if (lines.empty()) {
    return fail(ErrorCode::not_found,
                "the header Idempotency-Key is missing; send one key per intent, the same at every "
                "retry: Idempotency-Key: \"order-817\"");
  }
  if (lines.size() > 1) return wrong("it stands in the request more than once; send one key");
  const auto text = trim(lines.front());
  auto key = text.starts_with('"') ? parse_quoted(text) : parse_bare(text);
  if (key && (key->empty() || key->size() > kLongestName)) {
    return wrong(fmt::format("it has {} bytes; 1 to {} are allowed", key->size(), kLongestName));
  }
  return key;
}

}  // namespace onceproof
