// What a client can make a server hold or wait for. Values only.
#pragma once

#include <cstddef>

#include "base/clock.h"

namespace onceproof::net {

// Bounds of everything that a client can make the server hold.
struct ServerLimits {
  std::size_t connections = 256;  // then the longest idle one makes room, or the next waits
  std::size_t request_line_bytes = 8'000;  // then 414
  std::size_t head_bytes = 32 << 10;       // then 431
  std::size_t headers = 100;               // then 431
  std::size_t body_bytes = 1 << 20;        // then 413
  Milliseconds idle{300'000};              // a connection without a request; then FIN
  Milliseconds request{10'000};            // from its first byte to its last; then 408
  Milliseconds write{10'000};              // for one reply, to a client that does not read
  // For a server that only passes requests on: any method and any Content-Encoding are taken.
  bool passes_on = false;
};

}  // namespace onceproof::net
