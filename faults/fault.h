// A fault: where x which x what. Plain data, parsed from a scenario, a line of text or the admin
// API, armed in an Engine. Invariant: which request a fault hits is decided by its match alone,
// never by chance. Does not know sockets, services or workers; those carry it out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "faults/action.h"
#include "faults/action_spec.h"
#include "faults/point.h"

namespace onceproof::faults {

// All given fields must match. nth counts, from 1, the visits of this fault's point that match the
// other fields.
struct Match {
  std::optional<std::string> service;       // "payments"
  std::optional<std::string> route;         // "create", "lookup"
  std::optional<std::string> business_ref;  // what the effect is about: the order id of a payment
  std::optional<std::string> key;           // the operation key as it travelled
  std::optional<std::string> worker;        // "w1"
  std::optional<std::string> tenant;        // whose namespace, on a server with several
  std::uint32_t nth = 1;

  bool operator==(const Match&) const = default;
};

struct Fault {
  Point at = Point::request_received;
  Match on;
  Action action;
  std::uint32_t times = 1;  // strikes this many matching visits in a row, from the nth
  bool optional =
      false;  // a right executor may never meet it: not firing does not make a cell inconclusive
  std::string name;  // unique in its plan, for logs: "fault-1" if the author gave none

  bool operator==(const Fault&) const = default;
};

// Errors (invalid_argument, definite): a combination that means nothing, such as a status after the
// reply was sent.
Result<void> check_fault(const Fault& fault);

// The fields of a match that hold a text, by the names that every form has for them.
struct MatchField {
  std::string_view name;
  std::optional<std::string> Match::*field;
};
std::span<const MatchField> match_fields();

// nth and times, in every form.
inline constexpr std::int64_t kMaxCount = 1'000'000;

// One line: SERVICE.ROUTE@POINT [WORD=VALUE...] [optional] [TIMES*]ACTION[(PARAMETERS)].
//   payments.create@after_commit key=K nth=1 2*close
//   *.lookup@request_received 1*delay(80ms)
//   emails.create@after_commit status(502, body="<html>", type="text/html")
// `*` stands for any service or route. Words: business_ref, key, worker, tenant, nth, name. A value
// with other bytes than letters, digits and _:/.-+*? is written in quotes, as JSON writes a text.
// Sizes and durations have units. Errors (parse_failed, definite): "fault: column 17: ...", with
// what may stand there; combinations that mean nothing.
Result<Fault> fault_from_text(std::string_view text);
// What fault_from_text reads back to an equal fault, if its texts are UTF-8. ASCII without control
// characters: safe to show.
std::string to_text(const Fault& fault);

// {"at":"after_commit","on":{"service":"payments","route":"create","nth":1},"do":"hang","times":1,
//  "optional":false,"name":"..."}, or {"text":"payments.create@after_commit hang"}.
// `do` is a name, or an object with one member: {"delay":"80ms"} (its first parameter),
// {"status":{"code":502,"body":"<html>","content_type":"text/html"}} (all by name).
// Errors (parse_failed, definite): unknown members, unknown names, combinations that mean nothing,
// each naming the member and the allowed values.
Result<Fault> fault_from_json(const Json& json);
Json to_json(const Fault& fault);

}  // namespace onceproof::faults
