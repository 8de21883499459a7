// Exact moments in a request's life, seen by the fake. docs/faults.md has the table.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace onceproof::faults {

enum class Point {
  connect,           // a connection was accepted; not a byte of it was read
  request_received,  // all of the request was read; nothing is committed
  before_commit,     // admitted; the ledger's transaction, or the lookup, comes next
  after_commit,      // the ledger's transaction is durable (or the lookup was made); no byte of the
                     // reply was written
  response_first_byte,  // the first byte of the reply is handed to the socket, and no other
  response_sent,        // the last byte of the reply was handed to the socket
};

std::string_view to_text(Point point);
std::optional<Point> parse_point(std::string_view text);
std::span<const std::string_view> point_names();

}  // namespace onceproof::faults
