#include "proxy/tls.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/check.h"
#include "base/text.h"

namespace onceproof::proxy {
namespace {

constexpr int kReadBytes = 16 << 10;  // a TLS record holds no more

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

bool is_address(const std::string& host) {
  unsigned char bytes[16];
  return ::inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

std::string take_all(BIO* bio) {
  std::string bytes(BIO_ctrl_pending(bio), '\0');
  if (bytes.empty()) return bytes;
  const int got = BIO_read(bio, bytes.data(), static_cast<int>(bytes.size()));
  CHECK(got == static_cast<int>(bytes.size()));
  return bytes;
}

}  // namespace

struct TlsContext::State {
  std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>> context{SSL_CTX_new(TLS_client_method())};
};

TlsContext::TlsContext(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsContext::~TlsContext() = default;

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const std::filesystem::path& ca_file) {
  auto state = std::make_unique<State>();
  SSL_CTX* context = state->context.get();
  CHECK(context != nullptr);
  CHECK(SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  const bool trusted = ca_file.empty()
                           ? SSL_CTX_set_default_verify_paths(context) == 1
                           : SSL_CTX_load_verify_file(context, ca_file.string().c_str()) == 1;
  ERR_clear_error();
  if (!trusted) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("no certificates can be read from {}; give a PEM file",
                            escape_terminal(ca_file.string())));
  }
  return std::shared_ptr<const TlsContext>(new TlsContext(std::move(state)));
}

struct Tls::State {
  net::Socket& socket;
  std::string host;
  std::unique_ptr<SSL, Freed<SSL_free>> ssl;
  BIO* arrived = nullptr;  // both are the session's
  BIO* leaving = nullptr;
  bool ended = false;    // the peer said goodbye
  bool was_cut = false;  // or did not

  net::Socket::Arrival feed(MonotonicTime deadline) {
    std::string bytes;
    const auto arrival = socket.read_some(bytes, deadline);
    if (arrival == net::Socket::Arrival::bytes) {
      CHECK(BIO_write(arrived, bytes.data(), static_cast<int>(bytes.size())) ==
            static_cast<int>(bytes.size()));
    }
    return arrival;
  }
};

Tls::Tls(const TlsContext& context, net::Socket& socket, std::string_view host)
    : state_(new State{socket, std::string(host), {}}) {
  state_->ssl.reset(SSL_new(context.state_->context.get()));
  SSL* ssl = state_->ssl.get();
  CHECK(ssl != nullptr);
  state_->arrived = BIO_new(BIO_s_mem());
  state_->leaving = BIO_new(BIO_s_mem());
  CHECK(state_->arrived != nullptr && state_->leaving != nullptr);
  SSL_set_bio(ssl, state_->arrived, state_->leaving);
  SSL_set_connect_state(ssl);
  const unsigned char protocols[] = "\x08http/1.1";
  CHECK(SSL_set_alpn_protos(ssl, protocols, sizeof protocols - 1) == 0);
  if (is_address(state_->host)) {
    CHECK(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), state_->host.c_str()) == 1);
  } else {
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    CHECK(SSL_set1_host(ssl, state_->host.c_str()) == 1);
    CHECK(SSL_set_tlsext_host_name(ssl, state_->host.c_str()) == 1);
  }
}

Tls::~Tls() = default;

Result<void> Tls::shake_hands(MonotonicTime deadline) {
  SSL* ssl = state_->ssl.get();
  for (;;) {
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl);
    const int why = done == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl, done);
    const std::string bytes = take_all(state_->leaving);  // an alert, if it failed
    const bool written = state_->socket.write(bytes, deadline) == bytes.size();
    if (done == 1 && written) return {};
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_NONE) break;
    const auto arrival = written ? state_->feed(deadline) : net::Socket::Arrival::closed;
    if (arrival != net::Socket::Arrival::bytes) {
      return fail(ErrorCode::connection_failed,
                  fmt::format("TLS with {}: the server {} in the middle of the handshake",
                              escape_terminal(state_->host),
                              arrival == net::Socket::Arrival::closed ? "closed" : "fell silent"));
    }
  }
  const long verdict = SSL_get_verify_result(ssl);
  const char* reason = ERR_reason_error_string(ERR_get_error());
  const std::string said = verdict != X509_V_OK ? X509_verify_cert_error_string(verdict)
                           : reason != nullptr  ? reason
                                                : "handshake failed";
  ERR_clear_error();
  return fail(ErrorCode::connection_failed,
              fmt::format("TLS with {}: {}{}", escape_terminal(state_->host), said,
                          verdict != X509_V_OK ? "; --ca FILE names authorities to trust" : ""));
}

net::Socket::Arrival Tls::read_some(std::string& into, MonotonicTime deadline) {
  using Arrival = net::Socket::Arrival;
  for (;;) {
    if (state_->ended || state_->was_cut) return Arrival::closed;
    const std::size_t before = into.size();
    into.resize(before + kReadBytes);
    ERR_clear_error();
    const int got = SSL_read(state_->ssl.get(), into.data() + before, kReadBytes);
    into.resize(before + static_cast<std::size_t>(std::max(got, 0)));
    if (got > 0) return Arrival::bytes;
    const int why = SSL_get_error(state_->ssl.get(), got);
    if (why == SSL_ERROR_ZERO_RETURN) {
      state_->ended = true;
    } else if (why != SSL_ERROR_WANT_READ) {
      state_->was_cut = true;
    } else {
      const auto arrival = state_->feed(deadline);
      if (arrival == Arrival::timed_out) return arrival;
      state_->was_cut = arrival == Arrival::closed;
    }
  }
}

bool Tls::pending() const {
  return SSL_pending(state_->ssl.get()) > 0 || BIO_ctrl_pending(state_->arrived) > 0;
}

bool Tls::was_cut() const {
  return state_->was_cut;
}

std::string Tls::seal(std::string_view bytes) {
  ERR_clear_error();
  if (SSL_write(state_->ssl.get(), bytes.data(), static_cast<int>(bytes.size())) <= 0) return {};
  return take_all(state_->leaving);
}

std::string Tls::farewell() {
  ERR_clear_error();
  SSL_shutdown(state_->ssl.get());
  ERR_clear_error();
  return take_all(state_->leaving);
}

}  // namespace onceproof::proxy
