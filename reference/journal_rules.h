// What every journal refuses and writes down, in one wording: the implementations differ in where
// they keep rows, not in what they say. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "reference/journal.h"
#include "reference/operation.h"

namespace onceproof {

// May this operation be registered? Errors: invalid_argument, naming the member: key, tenant,
// intent_id, action_type or request_hash is of a wrong form or too long (the guide's columns); or
// it comes with a reason why it may not (error_code: reference/follow_up.h).
Result<void> check_registration(const Operation& operation);

// The row as it is at registration, whatever else the caller filled in.
Operation registered_form(const Operation& operation);

tl::unexpected<Error> no_such_operation(std::string_view operation_key);
tl::unexpected<Error> key_of_another_intent(const Operation& stored);
// `confirmed` without the provider's id is no confirmation: such an answer was ambiguous.
tl::unexpected<Error> no_external_id(std::string_view operation_key);
// A claim that changed no row: `stored` is what stands there.
tl::unexpected<Error> claim_refused(const Operation& stored, const ClaimRequest& request);
// A fenced write that changed no row.
tl::unexpected<Error> write_refused(const Operation& stored, std::int64_t attempt);

// by and why are there and short enough; an external_id for a success, and only for that. Errors:
// invalid_argument.
Result<void> check_resolution(const Resolution& resolution);
// A resolution of what is not in review, or has changed since it was seen.
tl::unexpected<Error> resolve_refused(const Operation& stored, const Resolution& resolution);
Status resolved_status(const Resolution& resolution);
inline constexpr std::string_view kResolvedFailed = "resolved_failed";  // the error_code

// Why a follow-up was not registered, in the words of an event; nullopt: it was, now or before.
std::optional<std::string> follow_up_refused(const Operation& follow_up,
                                             const Result<Registered>& registered);

// The texts of events.
std::string resolved_detail(const Resolution& resolution);
std::string claimed_detail(std::int64_t attempt);
std::string confirmed_detail(std::int64_t attempt, std::int64_t attempt_count,
                             std::string_view external_id);

}  // namespace onceproof
