// The Idempotency-Key header as a server reads it. Its value is a Structured Field string, in
// quotes; most providers take it bare, so that is taken too, and both name the same key. Pure.
// Source: draft-ietf-httpapi-idempotency-key-header; RFC 9651, section 3.3.3.
#pragma once

#include <span>
#include <string>

#include "base/error.h"

namespace onceproof {

// `lines`: the header's value each time that it stands in the request. Errors: not_found (no line),
// invalid_argument (two lines, a list, a wrong string, a length outside 1..200).
Result<std::string> parse_idempotency_key(std::span<const std::string> lines);

}  // namespace onceproof
