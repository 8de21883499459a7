// The stable, opaque name of an operation; made by code, once, when the intent is registered.
// "op_" + UUIDv7 (RFC 9562, section 5.7): time-ordered, so that the journal's index grows at its
// end; no business data.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"

namespace onceproof {

// "op_019c2a5e-7c00-7abc-8def-0123456789ab": 48 bits of milliseconds, 74 random bits. Keys of one
// millisecond are in random order: they share a page of the index anyway, and a counter would be
// state that processes cannot share. `now` must not be before 1970. Unguessable if `random` is. As
// thread-safe as `random`.
std::string make_operation_key(CivilTime now, Random& random);

// A key that the caller brings: 1..200 visible ASCII characters (0x21..0x7e), compared byte for
// byte. Errors: invalid_argument, saying which character or length is wrong; the key itself is not
// shown.
Result<void> check_operation_key(std::string_view key);

}  // namespace onceproof
