// One representation for one meaning, before a request is hashed: money, currencies, dates, nulls,
// white space. Invariant: idempotent (normalising twice changes nothing), and deterministic: no
// locale, no time zone, no clock. Source: guide, step 2 ("Нормализация должна быть
// детерминированной"); the rules are FieldRule, in policy.h.
#pragma once

#include "base/error.h"
#include "base/json.h"
#include "reference/policy.h"

namespace onceproof {

// The parameters as they count. A rule names a parameter ("currency"), or a path into it:
// "amount.currency", "items[].price_minor". What a rule names and the request has not is no error;
// what it has of the wrong form is. Errors (invalid_argument) name the field and what is allowed,
// never its value.
Result<Json> normalise(const Json& params, const FieldRules& rules);

}  // namespace onceproof
