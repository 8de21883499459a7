// What an HTTP exchange proves about the effect: a table from (how it ended, status, shape of the
// body) to an outcome. Invariant: `confirmed` and `rejected` only for an answer that is whole and
// of the provider's own shape; whatever the table does not name is ambiguous. Pure; does not know
// sockets. Source: guide, step 6; RFC 9110, sections 10.2.3 and 15.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "reference/guarantees.h"
#include "reference/provider.h"

namespace onceproof {

// How an exchange ended, seen from this side of the wire.
enum class ExchangeEnd {
  complete,     // a whole answer
  not_sent,     // not one byte of the request left this machine: refused, unreachable, no time left
  send_broken,  // the connection broke while the request was being sent; a part of it left
  no_answer,    // closed or reset before the first byte of an answer
  answer_cut,   // closed or reset in the midst of the answer
  timed_out,    // the total deadline passed after the first byte had been sent
  too_large,    // the answer is longer than its limit
  malformed,    // what came is not HTTP/1.1
};
std::string_view to_text(ExchangeEnd end);  // "complete", "timed_out", ...

// Header lines in the order in which they stand.
using HeaderLines = std::vector<std::pair<std::string, std::string>>;

struct Exchange {
  ExchangeEnd end = ExchangeEnd::not_sent;
  int status = 0;  // 0: no status line was read
  std::string content_type;
  std::string retry_after;  // the header's text; empty: none
  std::string body;         // complete only
  HeaderLines headers;      // complete only: lines as they came
};

// What the answers of one service look like.
struct EffectShape {
  std::string reference_field;  // the member that echoes the operation key; empty: none
  std::string completed =
      "succeeded";          // the `status` of an effect that is finished; empty: it has none
  std::string id = "/id";   // JSON Pointer to the effect's id
  bool number_ids = false;  // the id may be a whole number
  std::string error = "/error/code";  // JSON Pointer to an error's code
};

// What a call's exchange proves. `now` is for a Retry-After that is a date.
CallOutcome classify_call(const Exchange& exchange, std::string_view operation_key,
                          const EffectShape& shape, const Guarantees& guarantees, CivilTime now);

// What a lookup's exchange shows: {"data":[...],"has_more":false}. Only entries that are ours
// count; a listing that is cut, or that lists what was not asked for, shows nothing.
LookupResult classify_lookup(const Exchange& exchange, std::string_view operation_key,
                             const EffectShape& shape);

// RFC 9110, 10.2.3: seconds, or an HTTP date. nullopt if it is neither; never negative, at most a
// day.
std::optional<Milliseconds> parse_retry_after(std::string_view text, CivilTime now);

}  // namespace onceproof
