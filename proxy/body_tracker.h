// Where a message's body ends, found while its bytes pass by untouched.
// Invariant: take() never claims a byte that belongs to the next message, and needs no more memory
// for a body of any size. Pure; keeps no body. Source: RFC 9112, sections 6 and 7.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace onceproof::proxy {

class BodyTracker {
 public:
  static BodyTracker none() { return of_length(0); }
  static BodyTracker of_length(std::uint64_t bytes);
  static BodyTracker chunked();
  static BodyTracker until_close();  // a reply's only: it ends where the connection does

  // How many bytes at the front of `arrived` are the body's: all, unless it ends among them, or
  // they break the chunk framing (then broken() says why, and the bytes before the break count).
  std::size_t take(std::string_view arrived);
  bool done() const { return state_ == State::done; }
  bool ends_with_connection() const { return state_ == State::until_close; }
  // Empty: nothing is wrong.
  const std::string& broken() const { return broken_; }

 private:
  enum class State { length, until_close, size, data, data_end, trailer, done };
  bool take_line(std::string_view arrived, std::size_t& used);
  void end_line();

  State state_ = State::done;
  std::uint64_t left_ = 0;  // bytes of the body, or of the chunk
  std::string line_;        // chunk framing as far as it has arrived
  std::size_t trailer_bytes_ = 0;
  std::string broken_;
};

}  // namespace onceproof::proxy
