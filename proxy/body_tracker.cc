#include "proxy/body_tracker.h"

#include <algorithm>

#include "net/request_head.h"

namespace onceproof::proxy {
namespace {

constexpr std::size_t kLineBytes = 8'000;  // of a chunk's size with its extensions, of a trailer
constexpr std::size_t kTrailerBytes = 64'000;  // of all trailers

}  // namespace

BodyTracker BodyTracker::of_length(std::uint64_t bytes) {
  BodyTracker tracker;
  tracker.left_ = bytes;
  if (bytes > 0) tracker.state_ = State::length;
  return tracker;
}

BodyTracker BodyTracker::chunked() {
  BodyTracker tracker;
  tracker.state_ = State::size;
  return tracker;
}

BodyTracker BodyTracker::until_close() {
  BodyTracker tracker;
  tracker.state_ = State::until_close;
  return tracker;
}

std::size_t BodyTracker::take(std::string_view arrived) {
  std::size_t used = 0;
  while (used < arrived.size() && !done() && broken_.empty()) {
    switch (state_) {
      case State::until_close:
        return arrived.size();
      case State::length:
      case State::data: {
        const auto step = std::min<std::uint64_t>(left_, arrived.size() - used);
        used += static_cast<std::size_t>(step);
        left_ -= step;
        if (left_ == 0) state_ = state_ == State::length ? State::done : State::data_end;
        break;
      }
      default:
        if (take_line(arrived, used)) end_line();
    }
  }
  return used;
}

// True: line_ is whole, without its CRLF.
bool BodyTracker::take_line(std::string_view arrived, std::size_t& used) {
  const auto newline = arrived.find('\n', used);
  const auto end = newline == std::string_view::npos ? arrived.size() : newline + 1;
  line_ += arrived.substr(used, std::min(end - used, kLineBytes + 1));
  if (line_.size() > kLineBytes) {
    broken_ = "a line of the chunk framing is endless";
    return false;
  }
  used = end;
  if (newline == std::string_view::npos) return false;
  if (!line_.ends_with("\r\n")) {
    broken_ = "a line of the chunk framing must end in CRLF";
    return false;
  }
  line_.resize(line_.size() - 2);
  return true;
}

void BodyTracker::end_line() {
  if (state_ == State::size) {
    const auto size = net::parse_chunk_size(line_);
    if (!size) {
      broken_ = size.error().message;
    } else {
      left_ = *size;
      state_ = left_ > 0 ? State::data : State::trailer;
    }
  } else if (state_ == State::data_end) {
    if (!line_.empty()) broken_ = "a chunk is longer than its size";
    state_ = State::size;
  } else {
    trailer_bytes_ += line_.size();
    if (trailer_bytes_ > kTrailerBytes) broken_ = "the trailers are endless";
    if (line_.empty()) state_ = State::done;
  }
  line_.clear();
}

}  // namespace onceproof::proxy
