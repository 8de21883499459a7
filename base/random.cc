#include "base/random.h"

#include <openssl/rand.h>

#include <bit>

#include "base/check.h"

namespace onceproof {

void Random::fill(std::span<std::uint8_t> bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % 8 == 0) word = next();
    bytes[i] = static_cast<std::uint8_t>(word & 0xff);
    word >>= 8;
  }
}

std::uint64_t Random::below(std::uint64_t bound) {
  CHECK(bound > 0);
  const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;  // rejects the biased tail
  std::uint64_t value = next();
  while (value >= limit) value = next();
  return value % bound;
}

SeededRandom::SeededRandom(std::uint64_t seed) {
  for (auto& word : state_) {  // splitmix64
    seed += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    word = z ^ (z >> 31);
  }
}

std::uint64_t SeededRandom::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t SystemRandom::next() {
  std::uint64_t word = 0;
  CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(&word), sizeof word) == 1);
  return word;
}

}  // namespace onceproof
