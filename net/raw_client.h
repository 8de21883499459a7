// A client made of a socket alone, for tests: it sees every byte and how the connection ends.
// Not an HTTP client: it knows a reply's length only as far as a test needs it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/file.h"

namespace onceproof::net {

class RawClient {
 public:
  // Connects to 127.0.0.1. On failure connected() is false.
  explicit RawClient(int port);
  bool connected() const { return fd_.valid(); }

  // False: the connection broke.
  bool send(std::string_view bytes);

  enum class End { fin, reset, silence };  // silence: nothing more arrived in time
  struct Heard {
    std::string bytes;
    End end = End::silence;
  };
  // All that arrives until the connection ends, or until nothing came for `patience`.
  Heard hear_all(Milliseconds patience = Milliseconds{5'000});
  // One reply with a Content-Length, whole; nullopt if the connection ends or 5 s pass before.
  std::optional<std::string> hear_reply();

  // What arrives next, without keeping more; empty: the connection ended, or 5 s passed.
  std::string hear_at_most(std::size_t bytes);

  void half_close();  // FIN; still reads
  void close() { fd_.reset(); }
  void reset();  // RST

 private:
  UniqueFd fd_;
  std::string ahead_;  // arrived after the last reply
};

// "POST target HTTP/1.1" with Host, Content-Length and `headers` (each with its CRLF).
std::string post(std::string_view target, std::string_view body, std::string_view headers = "");
std::string get(std::string_view target, std::string_view headers = "");
// The digits of the status line; 0 if there is none.
int status_of(std::string_view reply);
// What follows the empty line.
std::string body_of(std::string_view reply);

}  // namespace onceproof::net
