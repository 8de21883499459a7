// Randomness as a seam: seeded where a run must be repeated, OpenSSL's where a name must be
// unguessable and unique.
#pragma once

#include <cstdint>
#include <span>

namespace onceproof {

class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;
  void fill(std::span<std::uint8_t> bytes);
  // Uniform in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound);
};

// xoshiro256** from a splitmix64-expanded seed: the same seed gives the same numbers on every
// platform. One thread at a time.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed);
  std::uint64_t next() override;

 private:
  std::uint64_t state_[4];
};

// RAND_bytes of OpenSSL; thread-safe; aborts if the system has no randomness to give.
class SystemRandom final : public Random {
 public:
  std::uint64_t next() override;
};

}  // namespace onceproof
