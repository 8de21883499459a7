// A provider profile: which guarantees this fake keeps. Data; the services read it, the SUT is told
// it as `guarantees`. Invariant: what is promised here is what the fake does; a conformance test in
// payments_test.cc holds each promise.
#pragma once

#include <span>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"

namespace onceproof::fakes {

enum class LookupBy { none, key, reference };

struct Profile {
  std::string name;
  std::string summary;                    // one sentence for people
  bool key_dedup = false;                 // a known key is answered as before, with a marker header
  Milliseconds dedup_window{86'400'000};  // a key is forgotten this long after its first request
  LookupBy lookup = LookupBy::none;
  bool lookup_complete = false;  // what is not listed does not exist, once index_delay has passed
  Milliseconds index_delay{0};   // an effect is visible to lookups this long after its commit
  Milliseconds max_in_flight{100};  // no request commits later than this after its client gave up
};

// keyed, searchable, delayed-index, blind.
std::span<const Profile> profiles();
// Errors: not_found, listing the names.
Result<Profile> find_profile(std::string_view name);

// What a SUT is told; docs/sut-protocol.md has the shape.
Json guarantees_json(const Profile& profile);

}  // namespace onceproof::fakes
