#include "base/digest.h"

#include <openssl/evp.h>

#include <array>
#include <memory>

#include "base/check.h"

namespace onceproof {
namespace {

using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

void begin(EVP_MD_CTX* context) {
  static EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  CHECK(algorithm != nullptr && EVP_DigestInit_ex2(context, algorithm, nullptr) == 1);
}

std::string end(EVP_MD_CTX* context) {
  std::array<unsigned char, 32> digest{};
  unsigned int length = 0;
  CHECK(EVP_DigestFinal_ex(context, digest.data(), &length) == 1 && length == 32);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text(64, '0');
  for (std::size_t i = 0; i < digest.size(); ++i) {
    text[2 * i] = kHex[digest[i] >> 4];
    text[2 * i + 1] = kHex[digest[i] & 15];
  }
  return text;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  // A fetched digest and a context per thread: less than half the cost of the one-shot call.
  thread_local const Context context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  begin(context.get());
  CHECK(EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1);
  return end(context.get());
}

struct Sha256::State {
  Context context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  begin(state_->context.get());
}
Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  CHECK(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::hex() {
  return end(state_->context.get());
}

}  // namespace onceproof
