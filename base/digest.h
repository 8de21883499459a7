// SHA-256, as lower-case hex. Source: FIPS 180-4; OpenSSL EVP.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace onceproof {

std::string sha256_hex(std::string_view bytes);  // 64 characters; thread-safe

// The same of a text that comes in pieces. One thread's.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(std::string_view bytes);
  std::string hex();  // of all that was added; once

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace onceproof
