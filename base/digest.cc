#include "base/digest.h"

#include <openssl/evp.h>

#include <array>
#include <memory>

#include "base/check.h"

namespace onceproof {

std::string sha256_hex(std::string_view bytes) {
  // A fetched digest and a context per thread: less than half the cost of the one-shot call.
  static EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  thread_local const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(
      EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::array<unsigned char, 32> digest{};
  unsigned int length = 0;
  CHECK(algorithm != nullptr && EVP_DigestInit_ex2(context.get(), algorithm, nullptr) == 1);
  CHECK(EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1);
  CHECK(EVP_DigestFinal_ex(context.get(), digest.data(), &length) == 1 && length == 32);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text(64, '0');
  for (std::size_t i = 0; i < digest.size(); ++i) {
    text[2 * i] = kHex[digest[i] >> 4];
    text[2 * i + 1] = kHex[digest[i] & 15];
  }
  return text;
}

}  // namespace onceproof
