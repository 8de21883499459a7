#include "proxy/rule.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <charconv>

#include "base/text.h"

namespace onceproof::proxy {
namespace {

constexpr std::size_t kMaxText = 1'000;
constexpr std::uint64_t kMaxCount = 1'000'000;
constexpr std::uint64_t kMaxBytes = 1'000'000'000'000;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!(text = trim(text)).empty()) {
    const auto end = std::min(text.find_first_of(" \t"), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

tl::unexpected<Error> wrong(std::string_view text, std::string_view why) {
  return fail(ErrorCode::parse_failed,
              fmt::format("'{}': {}", escape_terminal(shorten(text, 200)), why));
}

std::optional<std::uint64_t> number(std::string_view text, std::uint64_t least,
                                    std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || value < least || value > most) return std::nullopt;
  return value;
}

bool glob(const std::string& pattern, std::string_view text) {
  return ::fnmatch(pattern.c_str(), std::string(text).c_str(), 0) == 0;
}

Result<void> apply_word(Rule& rule, bool& has_at, std::string_view text, std::string_view word) {
  const auto equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
  if (name == "key" && !value.empty()) {
    rule.key = value;
    return {};
  }
  if (name == "nth" || name == "times") {
    const auto count = number(value, 1, kMaxCount);
    if (!count) return wrong(text, fmt::format("{} is a whole number from 1 on", name));
    (name == "nth" ? rule.nth : rule.times) = static_cast<std::uint32_t>(*count);
    return {};
  }
  if (name == "at") {
    const auto bytes = number(value, 0, kMaxBytes);
    if (!bytes) return wrong(text, "at is a number of bytes");
    rule.at = *bytes;
    has_at = true;
    return {};
  }
  return wrong(text, fmt::format("unknown word '{}'; write METHOD PATH nth=N times=N key=K",
                                 escape_terminal(word)));
}

}  // namespace

bool RequestPattern::matches(std::string_view request_method, std::string_view request_path) const {
  return glob(method, request_method) && glob(path, request_path);
}

Result<RequestPattern> parse_pattern(std::string_view text) {
  const auto words = words_of(text);
  const bool path = words.size() == 2 && (words[1].starts_with('/') || words[1].starts_with('*'));
  if (!path || text.size() > kMaxText) {
    return wrong(text, "write a method and a path, such as POST /payments or * /orders/*");
  }
  return RequestPattern{words[0], words[1]};
}

Result<Route> parse_route(std::string_view text) {
  const auto equals = text.find('=');
  const std::string_view name = trim(text.substr(0, equals));
  if (equals == std::string_view::npos || !is_http_token(name)) {
    return wrong(text, "write NAME=METHOD PATH, such as create=POST /payments");
  }
  auto pattern = parse_pattern(text.substr(equals + 1));
  if (!pattern) return tl::unexpected(pattern.error());
  return Route{std::string(name), std::move(*pattern)};
}

std::string route_of(const std::vector<Route>& routes, std::string_view method,
                     std::string_view path) {
  for (const auto& route : routes) {
    if (route.pattern.matches(method, path)) return route.name;
  }
  return fmt::format("{} {}", method, path);
}

Result<Rule> parse_rule(std::string_view text, bool takes_at) {
  const auto words = words_of(text);
  if (words.size() < 2) return wrong(text, "write METHOD PATH, then nth=N, times=N, key=K");
  auto pattern = parse_pattern(words[0] + " " + words[1]);
  if (!pattern) return tl::unexpected(pattern.error());
  Rule rule;
  rule.on = std::move(*pattern);
  bool has_at = false;
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (auto done = apply_word(rule, has_at, text, words[i]); !done) {
      return tl::unexpected(done.error());
    }
  }
  if (takes_at && !has_at) return wrong(text, "at=BYTES is missing: how much goes through");
  if (!takes_at && has_at) return wrong(text, "at=BYTES means nothing here");
  return rule;
}

RuleCounter::RuleCounter(std::vector<Rule> rules) {
  auto counted = rules_.lock();
  for (auto& rule : rules) counted->push_back({std::move(rule)});
}

std::optional<Rule> RuleCounter::visit(std::string_view method, std::string_view path,
                                       std::string_view key) {
  std::optional<Rule> due;
  auto rules = rules_.lock();
  for (auto& [rule, visits] : *rules) {
    if (!rule.on.matches(method, path) || (rule.key && *rule.key != key)) continue;
    ++visits;
    if (!due && visits >= rule.nth && visits - rule.nth < rule.times) due = rule;
  }
  return due;
}

}  // namespace onceproof::proxy
