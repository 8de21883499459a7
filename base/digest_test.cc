#include "base/digest.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace onceproof {
namespace {

struct Vector {
  std::string_view message;
  std::string_view digest;
};

// NIST's example values for FIPS 180-4 (SHA256.pdf, and the long message of FIPS 180-2, B.3).
constexpr Vector kVectors[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnop"
     "qr"
     "smnopqrstnopqrstu",
     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
};

TEST(DigestTest, MatchesTheExamplesOfFips180) {
  for (const auto& vector : kVectors) EXPECT_EQ(sha256_hex(vector.message), vector.digest);
}

TEST(DigestTest, MatchesTheMillionLettersOfFips180) {
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(DigestTest, TakesBytesNotStrings) {
  EXPECT_EQ(sha256_hex(std::string_view("\0", 1)),
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
}

TEST(DigestTest, PiecesGiveTheDigestOfTheWhole) {
  Sha256 pieces;
  for (const char* piece : {"a", "", "bc"}) pieces.add(piece);
  EXPECT_EQ(pieces.hex(), kVectors[1].digest);
  EXPECT_EQ(Sha256().hex(), kVectors[0].digest);
}

TEST(DigestTest, ThreadsDoNotDisturbEachOther) {
  std::vector<std::string> digests(4);
  {
    std::vector<std::jthread> threads;
    for (auto& digest : digests) {
      threads.emplace_back([&digest] {
        for (int i = 0; i < 500; ++i) digest = sha256_hex(i % 2 == 0 ? "" : "abc");
      });
    }
  }
  for (const auto& digest : digests) EXPECT_EQ(digest, kVectors[1].digest);
}

}  // namespace
}  // namespace onceproof
