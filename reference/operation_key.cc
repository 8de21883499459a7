#include "reference/operation_key.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/check.h"

namespace onceproof {
namespace {

constexpr std::size_t kMaxLength = 200;  // the guide's VARCHAR(200)

}  // namespace

std::string make_operation_key(CivilTime now, Random& random) {
  const std::int64_t ms = now.time_since_epoch().count();
  CHECK(ms >= 0 && ms < (std::int64_t{1} << 48));  // the years 1970 to 10889
  const auto unix_ms = static_cast<std::uint64_t>(ms);
  const std::uint64_t rand_a = random.next() & 0xfff;
  const std::uint64_t rand_b = random.next() & 0x3fff'ffff'ffff'ffff;
  const std::uint64_t high = unix_ms << 16 | 0x7000 | rand_a;   // version 7
  const std::uint64_t low = 0x8000'0000'0000'0000ULL | rand_b;  // variant 10
  return fmt::format("op_{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xffff,
                     high & 0xffff, low >> 48, low & 0xffff'ffff'ffff);
}

Result<void> check_operation_key(std::string_view key) {
  if (key.empty() || key.size() > kMaxLength) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("operation_key: {} characters; it must have 1 to {}", key.size(), kMaxLength));
  }
  for (std::size_t i = 0; i < key.size(); ++i) {
    const auto byte = static_cast<unsigned char>(key[i]);
    if (byte < 0x21 || byte > 0x7e) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("operation_key: byte {} is 0x{:02x}; only visible ASCII characters "
                              "(0x21 to 0x7e, no spaces) are allowed",
                              i + 1, byte));
    }
  }
  return {};
}

}  // namespace onceproof
