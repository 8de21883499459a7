// SHA-256, as lower-case hex. Source: FIPS 180-4; OpenSSL EVP.
#pragma once

#include <string>
#include <string_view>

namespace onceproof {
std::string sha256_hex(std::string_view bytes);  // 64 characters; thread-safe
}  // namespace onceproof
