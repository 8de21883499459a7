// The client's side of one exchange: its body comes in by pieces, the reply goes out by pieces.
// Invariant: nothing is changed, and of a body nothing is kept but its beginning, for the log, and
// its digest. The last byte of a reply leaves only after `before_last`: what that records is never
// late for a client that has its reply.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "net/request_head.h"
#include "proxy/body_tracker.h"
#include "proxy/parts.h"

namespace onceproof::proxy {

class ClientSide {
 public:
  ClientSide(Session& session, const net::RequestHead& head);

  // The request's body.
  enum class Piece { bytes, left, slow, broken };  // left: the client went away
  // Appends to `into` what has arrived of it, at least a byte unless it has just ended. Blocks
  // until something has, at most limits.body. Not to be called when body_done().
  Piece read_body(std::string& into);
  bool body_done() const { return body_.done(); }
  // Some of the body, or of what follows it, is here already.
  bool has_ahead() { return !session_.reader.ahead().empty(); }
  const std::string& broken() const { return body_.broken(); }
  const std::string& beginning() const { return beginning_; }  // at most 64 KiB
  std::string digest() { return digest_.hex(); }               // of the whole body, once
  // The client waits for "100 Continue" and nobody else will say it.
  void say_continue();
  bool was_told_to_continue() const { return told_to_continue_; }

  // An interim reply of the upstream's; not counted in sent().
  void pass_interim(std::string_view bytes);
  // The reply. False: the client takes no more of it.
  bool send(std::string_view bytes);
  bool send_last(std::string_view bytes, const std::function<void()>& before_last);
  std::uint64_t sent() const { return sent_; }

 private:
  bool write(std::string_view bytes, bool more);

  Session& session_;
  const net::RequestHead& head_;
  BodyTracker body_;
  Sha256 digest_;
  std::string beginning_;
  bool told_to_continue_ = false;
  std::uint64_t sent_ = 0;
};

}  // namespace onceproof::proxy
