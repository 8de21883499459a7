// Authenticated encryption: AES-256-GCM of OpenSSL. Invariant: what decrypt returns is what encrypt
// was given, under the same key and for the same context; anything else is an error, never bytes.
// Source: NIST SP 800-38D.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"

namespace onceproof {

using CipherKey = std::array<std::uint8_t, 32>;

// nonce, ciphertext and tag in base64. A nonce is 96 random bits: one key is good for 2^32 texts.
// `context` is not hidden; the text opens for the same context only. Thread-safe.
std::string encrypt(const CipherKey& key, std::string_view text, std::string_view context,
                    Random& random);
// nullopt: another key, another context, or damaged.
std::optional<std::string> decrypt(const CipherKey& key, std::string_view sealed,
                                   std::string_view context);

}  // namespace onceproof
