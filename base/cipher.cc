#include "base/cipher.h"

#include <openssl/evp.h>

#include <memory>

#include "base/check.h"

namespace onceproof {
namespace {

constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;

using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

Context make_context() {
  Context context(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  CHECK(context != nullptr);
  return context;
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

std::string to_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length =
      EVP_EncodeBlock(bytes_of(text), bytes_of(bytes), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  const int length =
      EVP_DecodeBlock(bytes_of(bytes), bytes_of(text), static_cast<int>(text.size()));
  if (length < 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  bytes.resize(static_cast<std::size_t>(length) - padding);
  return bytes;
}

}  // namespace

std::string encrypt(const CipherKey& key, std::string_view text, std::string_view context,
                    Random& random) {
  std::array<std::uint8_t, kNonceBytes> nonce{};
  random.fill(nonce);
  std::string sealed(nonce.begin(), nonce.end());
  sealed.resize(kNonceBytes + text.size() + kTagBytes);
  unsigned char* const out = bytes_of(sealed) + kNonceBytes;
  const auto cipher = make_context();
  int length = 0;
  CHECK(EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce.data()) ==
        1);
  CHECK(EVP_EncryptUpdate(cipher.get(), nullptr, &length, bytes_of(context),
                          static_cast<int>(context.size())) == 1);
  CHECK(EVP_EncryptUpdate(cipher.get(), out, &length, bytes_of(text),
                          static_cast<int>(text.size())) == 1);
  CHECK(EVP_EncryptFinal_ex(cipher.get(), out + length, &length) == 1);
  CHECK(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, out + text.size()) == 1);
  return to_base64(sealed);
}

std::optional<std::string> decrypt(const CipherKey& key, std::string_view sealed,
                                   std::string_view context) {
  auto bytes = from_base64(sealed);
  if (!bytes || bytes->size() < kNonceBytes + kTagBytes) return std::nullopt;
  const std::size_t size = bytes->size() - kNonceBytes - kTagBytes;
  unsigned char* const nonce = bytes_of(*bytes);
  unsigned char* const body = nonce + kNonceBytes;
  std::string text(size, '\0');
  const auto cipher = make_context();
  int length = 0;
  const bool opened =
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce) == 1 &&
      EVP_DecryptUpdate(cipher.get(), nullptr, &length, bytes_of(context),
                        static_cast<int>(context.size())) == 1 &&
      EVP_DecryptUpdate(cipher.get(), bytes_of(text), &length, body, static_cast<int>(size)) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, body + size) == 1 &&
      EVP_DecryptFinal_ex(cipher.get(), bytes_of(text) + length, &length) == 1;
  if (!opened) return std::nullopt;
  return text;
}

}  // namespace onceproof
