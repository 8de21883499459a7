// Parameters at rest, for operations that must be sent again without their caller. Invariants: only
// what was sealed here, with a key at hand and for the same operation, opens; a sealed text says
// which key opens it and nothing else. Kept only if the policy says so (keep_params), and erased
// when the operation ends: journal.h. Holds the keys in memory; where they come from is cli/'s
// business.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/cipher.h"
#include "base/error.h"
#include "base/json.h"
#include "base/random.h"

namespace onceproof {

class Sealer {
 public:
  // One key a line, 64 hexadecimal digits; the first one seals, all of them open, so that keys can
  // change while operations are open. Empty lines and lines that begin with # do not count. `name`
  // is the source's, for messages. Errors: invalid_argument, which never shows a key.
  static Result<Sealer> from_text(std::string_view text, std::string_view name);

  // `random` is the nonce's: OpenSSL's in production. Thread-safe if it is.
  std::string seal(std::string_view operation_key, const Json& params, Random& random) const;
  // Errors: not_found (sealed with a key that is not at hand; names it), journal_corrupt.
  Result<Json> open(std::string_view operation_key, std::string_view sealed) const;

 private:
  struct NamedKey {
    std::string id;  // 8 hexadecimal digits of its SHA-256
    CipherKey key;
  };
  std::vector<NamedKey> keys_;
};

}  // namespace onceproof
