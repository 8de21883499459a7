#include "reference/sealer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "base/text.h"

namespace onceproof {
namespace {

constexpr std::string_view kVersion = "1";
constexpr std::size_t kIdLength = 8;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<CipherKey> parse_key(std::string_view text) {
  CipherKey key{};
  if (text.size() != 2 * key.size()) return std::nullopt;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const int high = hex_digit(text[2 * i]);
    const int low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    key[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return key;
}

std::string id_of(const CipherKey& key) {
  const std::string_view bytes(reinterpret_cast<const char*>(key.data()), key.size());
  return sha256_hex(bytes).substr(0, kIdLength);
}

}  // namespace

Result<Sealer> Sealer::from_text(std::string_view text, std::string_view name) {
  Sealer sealer;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = trim(text.substr(0, end), " \t\r");
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const auto key = parse_key(line);
    if (!key) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{}:{}: a key is 64 hexadecimal digits, such as `openssl rand -hex "
                              "32` prints; this line has {} characters",
                              name, number, line.size()));
    }
    sealer.keys_.push_back({id_of(*key), *key});
  }
  if (sealer.keys_.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: no key in it; `openssl rand -hex 32` makes one", name));
  }
  return sealer;
}

std::string Sealer::seal(std::string_view operation_key, const Json& params, Random& random) const {
  const NamedKey& first = keys_.front();
  return fmt::format("{}.{}.{}", kVersion, first.id,
                     encrypt(first.key, to_line(params), operation_key, random));
}

Result<Json> Sealer::open(std::string_view operation_key, std::string_view sealed) const {
  const auto damaged = [&] {
    return fail(ErrorCode::journal_corrupt,
                fmt::format("{}: what was sealed does not open: it is damaged, or belongs to "
                            "another operation",
                            escape_terminal(shorten(operation_key, 200))));
  };
  const std::size_t id_at = kVersion.size() + 1;
  const std::size_t body_at = id_at + kIdLength + 1;
  const bool framed = sealed.size() > body_at && sealed.starts_with(kVersion) &&
                      sealed[id_at - 1] == '.' && sealed[body_at - 1] == '.';
  if (!framed) return damaged();
  const auto id = sealed.substr(id_at, kIdLength);
  const auto key = std::ranges::find(keys_, id, &NamedKey::id);
  if (key == keys_.end()) {
    return fail(ErrorCode::not_found,
                fmt::format("{}: sealed with key {}, which is not at hand; add it below the first "
                            "one",
                            escape_terminal(shorten(operation_key, 200)),
                            escape_terminal(shorten(id, kIdLength))));
  }
  const auto text = decrypt(key->key, sealed.substr(body_at), operation_key);
  if (!text) return damaged();
  auto params = parse_own_json(*text);
  if (params.is_discarded()) return damaged();
  return params;
}

}  // namespace onceproof
