// The public JSON type (nlohmann/json, sorted members) and a strict parser.
// Invariant: what parse_json accepts is valid RFC 8259 in UTF-8, without duplicate members, within
// its limits. nlohmann's exceptions stop in json.cc; use find_* to read members without throwing.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace onceproof {

using Json = nlohmann::json;

struct JsonLimits {
  std::size_t max_bytes = 1 << 20;
  std::size_t max_depth = 64;
};

// Errors (definite): parse_failed as "name:line:column: ..." (the column counts bytes),
// limit_exceeded. Refused: a duplicate member, a lone surrogate, bad UTF-8, a byte order mark, NaN,
// a number beyond double, an integer literal beyond 64 bits, text after the value. `name` stands
// for the source in messages (a file, "body", "stdout of w1"); they name the member ("lines[1].n")
// and never show a value: it may be a card's number.
Result<Json> parse_json(std::string_view text, std::string_view name = "json",
                        JsonLimits limits = {});

// The quick way, for what to_line wrote: nothing is refused but what is no JSON (is_discarded()).
Json parse_own_json(std::string_view text);

// One line, never throws: bytes that are not UTF-8 become U+FFFD.
std::string to_line(const Json& value);

// Members by name; nullopt if `object` is no object, has no such member, or it has another type.
std::optional<std::string> find_string(const Json& object, std::string_view member);
std::optional<std::int64_t> find_integer(const Json& object, std::string_view member);
std::optional<bool> find_bool(const Json& object, std::string_view member);
const Json* find_member(const Json& object, std::string_view member);  // nullptr if absent

// A JSON Pointer: "/data/0/id"; "" is the whole. Source: RFC 6901.
bool is_json_pointer(std::string_view text);
const Json* find_pointer(const Json& value, std::string_view pointer);  // nullptr if absent

}  // namespace onceproof
