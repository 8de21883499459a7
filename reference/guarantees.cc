#include "reference/guarantees.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "reference/settings.h"

namespace onceproof {
namespace {

constexpr Milliseconds kLongest{std::chrono::hours{24 * 3650}};

// `key_dedup: null` says what leaving it out says.
std::optional<YamlCursor> find_block(YamlCursor& map, std::string_view name) {
  auto found = map.find(name);
  if (found && found->kind() == YamlValue::Kind::null) return std::nullopt;
  return found;
}

KeyDedup read_key_dedup(YamlCursor map) {
  KeyDedup dedup;
  if (auto header = map.find("header")) {
    dedup.header = header->text();
    constexpr std::array<std::string_view, 10> kReserved{
        "connection", "content-encoding", "content-length",    "content-type", "expect", "host",
        "te",         "trailer",          "transfer-encoding", "upgrade"};
    if (!is_http_token(dedup.header)) {
      header->complain("a header's name has letters, digits and - only");
    } else if (std::ranges::find(kReserved, to_lower(dedup.header)) != kReserved.end()) {
      header->complain("this header belongs to HTTP itself and cannot carry a key");
    }
  }
  const auto window = find_duration(map, "window", Milliseconds{1}, kLongest);
  if (!window) map.complain("the member 'window' is missing: how long does it remember a key?");
  dedup.window = window.value_or(Milliseconds{0});
  map.refuse_others();
  return dedup;
}

LookupGuarantee read_lookup(YamlCursor map) {
  LookupGuarantee lookup;
  if (auto by = map.find("by")) {
    lookup.by = by->one_of({"key", "reference"}) == "key" ? LookupBy::key : LookupBy::reference;
  }
  if (auto complete = map.find("complete")) lookup.complete = complete->boolean();
  const auto delay = find_duration(map, "index_delay", Milliseconds{0}, kLongest);
  lookup.index_delay = delay.value_or(lookup.index_delay);
  map.refuse_others();
  return lookup;
}

NoEffect read_no_effect(YamlCursor map) {
  NoEffect row;
  row.status = static_cast<int>(map.require("status").integer(400, 599));
  if (auto error = map.find("error")) row.error = error->text();
  map.refuse_others();
  return row;
}

}  // namespace

Guarantees read_guarantees(YamlCursor map) {
  Guarantees guarantees;
  if (auto dedup = find_block(map, "key_dedup")) guarantees.key_dedup = read_key_dedup(*dedup);
  auto lookup = find_block(map, "lookup");
  if (lookup) guarantees.lookup = read_lookup(*lookup);
  if (auto field = map.find("reference_field")) {
    const bool none = field->kind() == YamlValue::Kind::null;
    guarantees.reference_field = none ? "" : field->text();
  }
  if (const auto longest = find_duration(map, "max_in_flight", Milliseconds{0}, kLongest)) {
    guarantees.max_in_flight = *longest;
  }
  if (auto rows = find_block(map, "no_effect")) {
    for (auto& row : rows->items()) guarantees.no_effect.push_back(read_no_effect(row));
  }
  // A lookup by what is never sent finds nothing, and would prove that nothing exists.
  const bool by_key = lookup && guarantees.lookup->by == LookupBy::key;
  if (by_key && !guarantees.key_dedup) {
    lookup->complain("a lookup by key needs key_dedup: without it no key is sent");
  }
  if (lookup && !by_key && guarantees.reference_field.empty()) {
    lookup->complain(
        "a lookup by reference needs reference_field: without it no reference is sent");
  }
  map.refuse_others();
  return guarantees;
}

Result<Guarantees> guarantees_from_json(const Json& json) {
  const auto document = document_from_json(json, "guarantees");
  auto guarantees = read_guarantees(YamlCursor(*document));
  if (document->error) return fail(ErrorCode::invalid_argument, document->error->message);
  return guarantees;
}

}  // namespace onceproof
