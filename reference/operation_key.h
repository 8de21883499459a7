// The stable, opaque name of an operation; made by code, once, when the intent is registered.
// "op_" + UUIDv7 (RFC 9562, section 5.7): time-ordered, so that the journal's index grows at its end; no business data.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"

namespace onceproof {

std::string make_operation_key(CivilTime now, Random& random);

// A key that the caller brings: 1..200 visible ASCII characters (0x21..0x7e), compared byte for byte.
// Errors: invalid_argument, saying which character or length is wrong.
Result<void> check_operation_key(std::string_view key);

}  // namespace onceproof
