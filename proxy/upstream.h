// The way to the upstream: its addresses, and single connections to it, plain or TLS.
// Invariant: a connection knows whether any byte that was put into it may have left this process;
// only when none has may the same request be put into another one. Nothing here ever repeats.
#pragma once

#include <sys/socket.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "net/socket.h"
#include "proxy/tls.h"

namespace onceproof::proxy {

struct UpstreamUrl {
  bool tls = false;
  std::string host;  // without brackets
  int port = 0;
  std::string authority;  // as in a Host header; without the port if it is the scheme's own
};
// "http://HOST[:PORT]", "https://HOST[:PORT]". Errors: invalid_argument, also for a path (nothing
// is rewritten, so there is no place for one) and a user.
Result<UpstreamUrl> parse_upstream_url(std::string_view url);

// One connection. One thread's; it is cut when `stop` is requested.
class UpstreamConnection {
 public:
  UpstreamConnection(UniqueFd fd, Clock& clock, std::stop_token stop);
  ~UpstreamConnection();  // FIN, with TLS's goodbye before it

  // Errors: connection_failed.
  Result<void> encrypt(const TlsContext& context, std::string_view host, MonotonicTime deadline);

  // For a connection that was kept: the peer is there still, and has said nothing unasked.
  bool is_quiet();
  net::Socket::Arrival read_some(std::string& into, MonotonicTime deadline);
  bool pending() const { return tls_ && tls_->pending(); }
  // The end that was read was an RST, or one that TLS does not vouch for.
  bool was_cut() const { return tls_ ? tls_->was_cut() : socket_.was_reset(); }

  // Takes bytes for the peer; the kernel gets what it takes now, the rest with flush().
  void put(std::string_view bytes);
  // Hands more to the kernel, without a wait. False: the connection takes nothing any more.
  bool flush();
  bool backlogged() const { return !outbox_.empty(); }
  // No byte that was put has been handed to the kernel: the peer cannot have anything.
  bool nothing_left() const { return !left_; }
  // What was put so far has been answered: counts anew for the next request.
  void start_request() { left_ = false; }

  net::Socket& socket() { return socket_; }

 private:
  Clock& clock_;
  net::Socket socket_;
  std::unique_ptr<Tls> tls_;
  std::string outbox_;  // as it goes over the wire
  bool left_ = false;
  bool broken_ = false;
  std::stop_callback<std::function<void()>> cutter_;  // last: it uses socket_
};

// Thread-safe.
class Upstream {
 public:
  // The host's addresses are looked up here, once: the resolver knows no deadline. Errors: as
  // parse_upstream_url and TlsContext::make; connection_failed (no such host).
  static Result<std::unique_ptr<Upstream>> make(std::string_view url,
                                                const std::filesystem::path& ca_file);

  // Tries the addresses one after the other. Errors: connection_failed, with the last reason:
  // nothing of a request was sent.
  Result<std::unique_ptr<UpstreamConnection>> connect(Milliseconds timeout, Clock& clock,
                                                      const std::stop_token& stop) const;
  const UpstreamUrl& url() const { return url_; }

 private:
  struct Address {
    sockaddr_storage storage{};
    socklen_t length = 0;
  };
  UpstreamUrl url_;
  std::vector<Address> addresses_;
  std::shared_ptr<const TlsContext> tls_;  // null: plain
};

}  // namespace onceproof::proxy
