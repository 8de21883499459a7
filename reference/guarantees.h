// What a provider promises. The decision core relies on these and on nothing else about the
// provider. The defaults promise nothing: an unknown provider is treated as a blind one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/yaml.h"

namespace onceproof {

struct KeyDedup {
  std::string header = "Idempotency-Key";
  Milliseconds window{0};  // a key is remembered this long after its first request
};

enum class LookupBy { key, reference };

struct LookupGuarantee {
  LookupBy by = LookupBy::reference;
  bool complete = false;  // what is not listed does not exist, once index_delay has passed
  Milliseconds index_delay{0};
};

// An answer that proves that no effect exists: this status, with an error body whose "error.code"
// is `error` if that is given.
struct NoEffect {
  int status = 400;
  std::string error;  // empty: any, but the error body must be of the provider's shape
};

struct Guarantees {
  std::optional<KeyDedup> key_dedup;
  std::optional<LookupGuarantee> lookup;
  std::string reference_field =
      "reference";                // request field that carries the operation key; empty: none
  Milliseconds max_in_flight{0};  // no request takes effect later than this after our time-out
  std::vector<NoEffect> no_effect;
};

// The shape is in docs/sut-protocol.md; durations may also be written with units (`window: 24h`).
// What is absent or null is not promised, but `reference_field`, which is "reference" if absent and
// none if null or empty. Errors: invalid_argument, naming the member and what is allowed; unknown
// members too.
Result<Guarantees> guarantees_from_json(const Json& json);

// The same from a place in a document (policy_file.h); the first mistake is noted there.
Guarantees read_guarantees(YamlCursor map);

}  // namespace onceproof
