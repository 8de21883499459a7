// A provider profile: which guarantees this fake keeps. Data; the services read it, the SUT is told it as `guarantees`.
// What is promised here is what the fake does; a conformance test holds each promise.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/json.h"

namespace onceproof::fakes {

enum class LookupBy { none, key, reference };

struct Profile {
  std::string name;
  std::string summary;                        // one sentence for people
  bool key_dedup = false;                     // replays status and body for a known key, with a marker header
  Milliseconds dedup_window{86'400'000};      // a key is forgotten this long after its first request
  LookupBy lookup = LookupBy::none;
  bool lookup_complete = false;               // what is not listed does not exist, once index_delay has passed
  Milliseconds index_delay{0};                // an effect is visible to lookups this long after its commit
  Milliseconds max_in_flight{100};            // no request commits later than this after the client's time-out
};

// keyed, searchable, delayed-index, blind.
std::span<const Profile> profiles();
// Errors: not_found, listing the names.
Result<Profile> find_profile(std::string_view name);
// Short real times for a cell: index_delay and max_in_flight scaled by `scale` (1.0 = as listed in profiles()).
Profile scaled(const Profile& profile, double scale);

// What a SUT is told; the shape is in docs/sut-protocol.md:
// {"key_dedup":{"header":"Idempotency-Key","window_ms":N}|null,
//  "lookup":{"by":"key"|"reference","complete":B,"index_delay_ms":N}|null,
//  "reference_field":"reference","max_in_flight_ms":N,
//  "no_effect":[{"status":400},{"status":402},{"status":404},{"status":422,"error":"validation_failed"}]}
Json guarantees_json(const Profile& profile);

}  // namespace onceproof::fakes
