#include "base/cipher.h"

#include <gtest/gtest.h>

namespace onceproof {
namespace {

CipherKey key_of(std::uint8_t byte) {
  CipherKey key;
  key.fill(byte);
  return key;
}

TEST(CipherTest, OpensWhatItSealed) {
  SeededRandom random(1);
  for (const std::size_t size : {0U, 1U, 2U, 3U, 15U, 16U, 17U, 1000U}) {
    const std::string text(size, 'x');
    const auto sealed = encrypt(key_of(7), text, "op_1", random);
    EXPECT_EQ(decrypt(key_of(7), sealed, "op_1"), text) << size;
  }
}

TEST(CipherTest, OneTextIsNeverSealedTheSameTwice) {
  SystemRandom random;
  EXPECT_NE(encrypt(key_of(7), "text", "op_1", random), encrypt(key_of(7), "text", "op_1", random));
}

TEST(CipherTest, DoesNotOpenForAnotherKeyOrContext) {
  SeededRandom random(1);
  const auto sealed = encrypt(key_of(7), "text", "op_1", random);
  EXPECT_EQ(decrypt(key_of(8), sealed, "op_1"), std::nullopt);
  EXPECT_EQ(decrypt(key_of(7), sealed, "op_2"), std::nullopt);
}

TEST(CipherTest, EveryChangedCharacterIsNoticed) {
  SeededRandom random(1);
  const auto sealed = encrypt(key_of(7), "amount_minor: 490000", "op_1", random);
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string damaged = sealed;
    damaged[i] = damaged[i] == 'A' ? 'B' : 'A';
    EXPECT_EQ(decrypt(key_of(7), damaged, "op_1"), std::nullopt) << i;
    EXPECT_EQ(decrypt(key_of(7), sealed.substr(0, i), "op_1"), std::nullopt) << i;
  }
  EXPECT_EQ(decrypt(key_of(7), "", "op_1"), std::nullopt);
  EXPECT_EQ(decrypt(key_of(7), "not base64 at all!!!", "op_1"), std::nullopt);
}

// Published by NIST for AES-256-GCM (gcmEncryptExtIV256, Keylen 256, IVlen 96, PTlen 0): the tag of
// an empty text under a zero key and a zero nonce.
TEST(CipherTest, IsTheStandardsCipher) {
  EXPECT_EQ(decrypt(CipherKey{}, "AAAAAAAAAAAAAAAAUw+K+8dFNrmpY7TxxMtziw==", ""), "");
}

}  // namespace
}  // namespace onceproof
