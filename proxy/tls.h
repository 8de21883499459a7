// TLS for a connection to the upstream: OpenSSL over memory, so that every byte still passes
// net::Socket with its deadlines and its cut().
// Invariant: without a handshake that proved the server's name by a trusted certificate, nothing of
// a request is encrypted, let alone sent. There is no way to switch the proof off.
// Source: RFC 8446; OpenSSL's SSL_set1_host(3), BIO_s_mem(3).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "net/socket.h"

namespace onceproof::proxy {

// What all connections to one upstream share. Immutable.
class TlsContext {
 public:
  // `ca_file`: PEM of the authorities to trust instead of the system's; empty: the system's.
  // Errors: invalid_argument (no certificate in the file).
  static Result<std::shared_ptr<const TlsContext>> make(const std::filesystem::path& ca_file);
  ~TlsContext();

 private:
  friend class Tls;
  struct State;
  explicit TlsContext(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// One session. One thread's.
class Tls {
 public:
  // `host`: the name or the address that the certificate must prove; a name is sent as SNI.
  Tls(const TlsContext& context, net::Socket& socket, std::string_view host);
  ~Tls();

  // Errors: connection_failed, with what is wrong with the certificate.
  Result<void> shake_hands(MonotonicTime deadline);
  // As net::Socket::read_some. timed_out also if what arrived was no data, and `deadline` is over.
  net::Socket::Arrival read_some(std::string& into, MonotonicTime deadline);
  // Data is here that read_some() gives without a wait.
  bool pending() const;
  // The peer ended without saying so (close_notify): somebody may have cut the reply short.
  bool was_cut() const;
  // What is to be written to the socket so that the peer gets `bytes`. Empty: the session is over.
  std::string seal(std::string_view bytes);
  // The goodbye, to be written before FIN.
  std::string farewell();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace onceproof::proxy
