#include "proxy/client_side.h"

#include <algorithm>

namespace onceproof::proxy {
namespace {

constexpr std::size_t kLoggedBytes = 64 << 10;

}  // namespace

ClientSide::ClientSide(Session& session, const net::RequestHead& head)
    : session_(session),
      head_(head),
      body_(head.chunked ? BodyTracker::chunked() : BodyTracker::of_length(head.content_length)) {}

ClientSide::Piece ClientSide::read_body(std::string& into) {
  std::string& ahead = session_.reader.ahead();
  if (ahead.empty()) {
    const auto deadline = session_.parts.clock.monotonic() + session_.parts.limits.body;
    switch (session_.client.socket().read_some(ahead, deadline)) {
      case net::Socket::Arrival::bytes:
        break;
      case net::Socket::Arrival::closed:
        return Piece::left;
      case net::Socket::Arrival::timed_out:
        return Piece::slow;
    }
  }
  const std::size_t used = body_.take(ahead);
  if (!body_.broken().empty()) return Piece::broken;
  const std::string_view piece = std::string_view(ahead).substr(0, used);
  digest_.add(piece);
  beginning_ += piece.substr(0, kLoggedBytes - std::min(kLoggedBytes, beginning_.size()));
  into += piece;
  ahead.erase(0, used);
  return Piece::bytes;
}

void ClientSide::say_continue() {
  if (!head_.expects_continue || told_to_continue_ || body_.done() || has_ahead()) return;
  told_to_continue_ = true;
  session_.client.socket().write("HTTP/1.1 100 Continue\r\n\r\n",
                                 session_.parts.clock.monotonic() + session_.parts.limits.write);
}

bool ClientSide::write(std::string_view bytes, bool more) {
  const auto deadline = session_.parts.clock.monotonic() + session_.parts.limits.write;
  const std::size_t taken = session_.client.socket().write(bytes, deadline, more);
  sent_ += taken;
  return taken == bytes.size();
}

void ClientSide::pass_interim(std::string_view bytes) {
  session_.client.socket().write(bytes,
                                 session_.parts.clock.monotonic() + session_.parts.limits.write);
}

bool ClientSide::send(std::string_view bytes) {
  return write(bytes, false);
}

bool ClientSide::send_last(std::string_view bytes, const std::function<void()>& before_last) {
  const std::size_t most = bytes.empty() ? 0 : bytes.size() - 1;
  if (!write(bytes.substr(0, most), true)) return false;
  before_last();
  return write(bytes.substr(most), false);
}

}  // namespace onceproof::proxy
