#include "fakes/profile.h"

#include <fmt/format.h>

#include <array>

namespace onceproof::fakes {
namespace {

Profile keyed() {
  return {.name = "keyed",
          .summary = "deduplicates by the key's header and replays the first answer; finds by key",
          .key_dedup = true,
          .lookup = LookupBy::key,
          .lookup_complete = true};
}

Profile searchable() {
  return {.name = "searchable",
          .summary = "no deduplication; finds by reference, completely and at once",
          .lookup = LookupBy::reference,
          .lookup_complete = true};
}

Profile delayed_index() {
  return {.name = "delayed-index",
          .summary = "no deduplication; finds by reference, but only some time after the commit",
          .lookup = LookupBy::reference,
          .lookup_complete = true,
          .index_delay = Milliseconds{250}};
}

Profile blind() {
  return {.name = "blind", .summary = "no deduplication and no lookup: it can never tell"};
}

const std::array<Profile, 4>& table() {
  static const std::array<Profile, 4> profiles{keyed(), searchable(), delayed_index(), blind()};
  return profiles;
}

Json lookup_json(const Profile& profile) {
  if (profile.lookup == LookupBy::none) return nullptr;
  return {{"by", profile.lookup == LookupBy::key ? "key" : "reference"},
          {"complete", profile.lookup_complete},
          {"index_delay_ms", profile.index_delay.count()}};
}

}  // namespace

std::span<const Profile> profiles() {
  return table();
}

Result<Profile> find_profile(std::string_view name) {
  std::string known;
  for (const auto& profile : profiles()) {
    if (profile.name == name) return profile;
    known += (known.empty() ? "" : ", ") + profile.name;
  }
  return fail(ErrorCode::not_found, fmt::format("no profile '{}'; there are: {}", name, known));
}

Json guarantees_json(const Profile& profile) {
  Json dedup = nullptr;
  if (profile.key_dedup) {
    dedup = {{"header", "Idempotency-Key"}, {"window_ms", profile.dedup_window.count()}};
  }
  return {{"key_dedup", dedup},
          {"lookup", lookup_json(profile)},
          {"reference_field", "reference"},
          {"max_in_flight_ms", profile.max_in_flight.count()},
          {"no_effect",
           {{{"status", 400}},
            {{"status", 402}},
            {{"status", 404}},
            {{"status", 422}, {"error", "validation_failed"}}}}};
}

}  // namespace onceproof::fakes
