// One HTTP request as it arrived, and what is to be done with it: the values that pass between the
// server of this folder and the services that stand on it.
// Invariant: headers and target are as they travelled, byte for byte; only `path` and `query` are
// decoded. Knows neither sockets nor httplib.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "net/limits.h"

namespace onceproof::faults {

struct HttpRequest {
  std::uint64_t connection = 0;  // from 1, in order of accept
  std::string method;
  std::string target;                             // path and query, undecoded
  std::string path;                               // percent-decoded
  std::multimap<std::string, std::string> query;  // percent-decoded
  std::map<std::string, std::string> headers;     // lower-case names; repeated ones joined by ", "
  std::string body;

  // Empty if there is no such header. `name` in lower case.
  std::string header(std::string_view name) const;
};

struct HttpReply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};  // beside content-type, -length
};

// {"error":{"code":"not_found","message":"..."}}
HttpReply error_reply(int status, std::string_view code, std::string_view message);

// How an exchange ends.
enum class Ending {
  answer,  // the reply is written; the connection is kept if the client wants it
  close,   // FIN without another byte
  reset,   // RST without another byte
  hang,    // no byte until the client gives up, the server stops, or ServerLimits::hang is over
};

// What follows the last byte of a reply.
struct AfterReply {
  Ending ending = Ending::answer;  // not hang: that would be a reply like any other
  std::function<void()> action;  // runs when the last byte is out, before the ending; may be empty
  Milliseconds linger{0};        // silence after the last byte, before the ending
};

// How the bytes of a reply go out, if not whole and at once. What is cut or replaced is followed by
// `then`.
struct Writing {
  enum class Form {
    whole,
    raw,            // `raw` instead of the reply
    cut,            // the reply's first `bytes`, its head counted
    half_body,      // its head and half of its body
    bad_chunk,      // the reply in chunks: half of its body, then a size that is none
    no_last_chunk,  // the reply in chunks, whole, without the chunk that ends it
  };
  Form form = Form::whole;
  std::string raw = {};
  std::size_t bytes = 0;
  std::size_t piece = 0;  // not 0: so many bytes at a time, `every` between them
  Milliseconds every{0};
  Ending then = Ending::close;
};

// What follows the first byte of a reply: `action`, then silence for `delay`, then the ending
// (answer: the rest of the reply).
struct AfterFirstByte {
  Ending ending = Ending::answer;
  Milliseconds delay{0};
  std::function<void()> action = {};
};

struct Decision {
  Ending ending = Ending::answer;
  HttpReply reply;  // for answer
  Writing writing;  // for answer
  // Called once, in the connection's thread, before a reply that is to come whole. If it returns
  // something, the first byte goes out alone, and then that is done. May be empty.
  std::function<std::optional<AfterFirstByte>()> before_first_byte;
  // Called once, in the connection's thread, when only the last byte of the reply is left: no
  // client can have the whole reply before this has returned, so what it records is never late.
  std::function<AfterReply()> before_last_byte;
  // Called instead of it, or after it, if the connection broke before the last byte was handed to
  // the socket; `bytes` of the reply were.
  std::function<void(std::size_t bytes)> on_broken;
};

// Called from the connections' threads, several at once. `stop` is requested when the server stops.
struct HttpHandlers {
  // A connection was accepted, and nothing of it was read. What it returns is done to it (answer:
  // it goes on). May be empty, and may block.
  std::function<Ending(std::uint64_t connection, std::stop_token stop)> accepted = {};
  // The whole request was read. An exception that leaves it is answered with 500.
  std::function<Decision(const HttpRequest& request, std::stop_token stop)> serve;
  // What arrived was refused with `status` before it became a request; as much of it as was
  // understood. Called before the refusal is written. May be empty.
  std::function<void(const HttpRequest& request, int status)> refused;
};

struct ServerLimits : net::ServerLimits {
  Milliseconds hang{600'000};  // bound of Ending::hang
};

}  // namespace onceproof::faults
