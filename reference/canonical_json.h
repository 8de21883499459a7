// RFC 8785 (JCS), whole: one text for one meaning. Members by UTF-16 code units, ES6 number text,
// minimal escapes. Invariant: equal texts <=> equal JSON values. What has no exact canonical form
// is an error, never a guess. Does not normalise meaning (currencies, dates, nulls):
// reference/normalise.h does.
#pragma once

#include <string>

#include "base/error.h"
#include "base/json.h"

namespace onceproof {

// Errors (invalid_argument, definite) name the path ("params.items[2].price") and show no value: an
// integer beyond 2^53-1, a number that is not finite, a string or a member's name that is not
// UTF-8, nesting beyond 128 levels. Duplicate members and lone surrogates cannot reach it in a
// Json: parse_json refuses them.
Result<std::string> canonical_json(const Json& value);

// A whole number, written as one, that every JSON reader keeps exactly: at most 2^53-1 either way.
bool is_exact_integer(const Json& value);

}  // namespace onceproof
