// A fault: where x which x what. Plain data, parsed from a scenario or from the admin API, armed in
// an Engine. Invariant: which request a fault hits is decided by its match alone, never by chance.
// Does not know sockets, services or workers; those carry it out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"

namespace onceproof::faults {

// Exact moments in a request's life, seen by the fake. ARCHITECTURE.md has the table.
enum class Point {
  request_received,  // all of the request was read; nothing is committed
  after_commit,      // the ledger's transaction is durable (or the lookup was made); no byte of the
                     // reply was written
  response_sent,     // the last byte of the reply was handed to the socket
};

enum class ActionKind {
  close,   // FIN without another byte
  reset,   // RST (SO_LINGER 0) without another byte
  hang,    // no byte until the client gives up or the fake stops
  status,  // a complete answer with this status, body and content type, instead of the true one
  delay,   // the true answer, later by `duration`
  kill,  // SIGKILL to the worker that sent the request; the worker is dead before the fake goes on;
         // then close
};

struct Action {
  ActionKind kind = ActionKind::close;
  int status = 0;                                 // status: 200..599
  std::string body;                               // status; at most 64 KiB
  std::string content_type = "application/json";  // status
  Milliseconds duration{0};                       // delay; at most 1 h
};

// All given fields must match. nth counts, from 1, the visits of this fault's point that match the
// other fields.
struct Match {
  std::optional<std::string> service;       // "payments"
  std::optional<std::string> route;         // "create", "lookup"
  std::optional<std::string> business_ref;  // what the effect is about: the order id of a payment
  std::optional<std::string> key;           // the operation key as it travelled
  std::optional<std::string> worker;        // "w1"
  std::uint32_t nth = 1;
};

struct Fault {
  Point at = Point::request_received;
  Match on;
  Action action;
  std::uint32_t times = 1;  // strikes this many matching visits in a row, from the nth
  bool optional =
      false;  // a right executor may never meet it: not firing does not make a cell inconclusive
  std::string name;  // unique in its plan, for logs: "fault-1" if the author gave none
};

std::string_view to_text(Point point);
std::string_view to_text(ActionKind kind);

// "payments.create@after_commit key=K nth=1 times=1: hang", for logs and reports.
std::string to_text(const Fault& fault);

// Errors (invalid_argument, definite): a combination that means nothing, such as a status after the
// reply was sent.
Result<void> check_fault(const Fault& fault);

std::span<const std::string_view> point_names();
std::span<const std::string_view> action_names();
std::optional<Point> parse_point(std::string_view text);
std::optional<ActionKind> parse_action(std::string_view text);

// {"at":"after_commit","on":{"service":"payments","route":"create","nth":1},"do":"hang","times":1,
//  "optional":false,"name":"..."}
// `do` is a name, or an object with one member:
// {"status":{"code":502,"body":"<html>","content_type":"text/html"}},
// {"delay":"80ms"}. Errors (parse_failed, definite): unknown members, unknown names, combinations
// that mean nothing (a status after the reply was sent), each naming the member and the allowed
// values.
Result<Fault> fault_from_json(const Json& json);
Json to_json(const Fault& fault);

}  // namespace onceproof::faults
