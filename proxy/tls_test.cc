// An https upstream, by OpenSSL's own server side: who proves its name is spoken to, who does not
// is not.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <csignal>
#include <functional>
#include <memory>
#include <thread>

#include "base/digest.h"
#include "base/file.h"
#include "base/guarded.h"
#include "net/raw_client.h"
#include "proxy/proxy.h"
#include "proxy/scripted_upstream.h"

namespace onceproof::proxy {
namespace {

struct Freed {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
template <typename T>
using Owned = std::unique_ptr<T, Freed>;

struct Identity {
  Owned<EVP_PKEY> key{EVP_EC_gen("P-256")};
  Owned<X509> certificate{X509_new()};
};

void extend(X509* certificate, int what, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, what, value.c_str());
  ASSERT_NE(extension, nullptr) << value;
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Signed by `issuer`, or by itself: then an authority. `names`: "DNS:localhost,IP:127.0.0.1".
Identity make_identity(const std::string& name, const std::string& names, const Identity* issuer,
                       long valid_from = -3'600, long valid_to = 3'600) {
  Identity made;
  X509* certificate = made.certificate.get();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), issuer == nullptr ? 1 : 2);
  X509_gmtime_adj(X509_getm_notBefore(certificate), valid_from);
  X509_gmtime_adj(X509_getm_notAfter(certificate), valid_to);
  X509_set_pubkey(certificate, made.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(
      certificate,
      X509_get_subject_name(issuer == nullptr ? certificate : issuer->certificate.get()));
  extend(certificate, NID_basic_constraints, issuer == nullptr ? "critical,CA:TRUE" : "CA:FALSE");
  if (!names.empty()) extend(certificate, NID_subject_alt_name, names);
  X509_sign(certificate, issuer == nullptr ? made.key.get() : issuer->key.get(), EVP_sha256());
  return made;
}

std::string pem_of(X509* certificate) {
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

// One connection after the other: shakes hands, and lets the script answer.
class TlsUpstream {
 public:
  using Script = std::function<void(SSL*, TlsUpstream&)>;
  TlsUpstream(const Identity& identity, Script script)
      : script_(std::move(script)), context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX_use_certificate(context_.get(), identity.certificate.get());
    SSL_CTX_use_PrivateKey(context_.get(), identity.key.get());
    listening_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(::listen(listening_.get(), 16), 0);
    ::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] { accept_all(); });
  }
  // Whoever talks to it has gone before.
  ~TlsUpstream() { ::shutdown(listening_.get(), SHUT_RDWR); }
  std::string url(const std::string& host) const {
    return fmt::format("https://{}:{}", host, port_);
  }
  std::vector<std::string> seen() const { return *seen_.lock(); }
  void saw(const std::string& what) { seen_.lock()->push_back(what); }

  static std::string read_head(SSL* ssl) {
    std::string head;
    char byte = 0;
    while (!head.ends_with("\r\n\r\n") && SSL_read(ssl, &byte, 1) == 1) head += byte;
    return head;
  }
  static void write(SSL* ssl, const std::string& bytes) {
    SSL_write(ssl, bytes.data(), static_cast<int>(bytes.size()));
  }

 private:
  void accept_all() {
    for (;;) {
      const UniqueFd fd(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!fd.valid()) return;
      const Owned<SSL> ssl(SSL_new(context_.get()));
      SSL_set_fd(ssl.get(), fd.get());
      if (SSL_accept(ssl.get()) != 1) {
        saw("no handshake");
        continue;
      }
      script_(ssl.get(), *this);
    }
  }
  const Script script_;
  Owned<SSL_CTX> context_;
  UniqueFd listening_;
  int port_ = 0;
  mutable Guarded<std::vector<std::string>> seen_;
  std::jthread thread_;
};

class TlsTest : public ProxyTest {
 protected:
  static constexpr const char* kBothNames = "DNS:localhost,IP:127.0.0.1";

  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL's server side writes without MSG_NOSIGNAL
    ASSERT_TRUE(folder_.has_value());
    ASSERT_TRUE(write_file(ca_file(), pem_of(authority_.certificate.get())).has_value());
  }
  void TearDown() override { proxy_.reset(); }  // before the upstream
  std::string ca_file() const { return (folder_->path() / "ca.pem").string(); }
  void start_tls(const Identity& identity, TlsUpstream::Script script, const std::string& host,
                 bool trusting = true) {
    proxy_.reset();
    tls_upstream_ = std::make_unique<TlsUpstream>(identity, std::move(script));
    ProxyOptions options;
    options.upstream = tls_upstream_->url(host);
    if (trusting) options.ca_file = ca_file();
    start_before(std::move(options));
  }
  std::string ask() {
    net::RawClient client(proxy_->port());
    EXPECT_TRUE(client.send(net::get("/x")));
    return client.hear_reply().value_or("");
  }
  static void answer_all_tls(SSL* ssl, TlsUpstream& upstream) {
    const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    upstream.saw(name == nullptr ? "no name" : name);
    for (int i = 1;; ++i) {
      const auto head = TlsUpstream::read_head(ssl);
      if (head.empty()) return;
      upstream.saw(head);
      TlsUpstream::write(ssl, ok(fmt::format("answer {}", i)));
    }
  }

  Result<TempDir> folder_ = TempDir::make("onceproof-tls");
  Identity authority_ = make_identity("test authority", "", nullptr);
  std::unique_ptr<TlsUpstream> tls_upstream_;
};

TEST_F(TlsTest, SpeaksToTheUpstreamThatProvesItsName) {
  for (const std::string host : {"localhost", "127.0.0.1"}) {
    start_tls(make_identity("s", kBothNames, &authority_), answer_all_tls, host);
    net::RawClient client(proxy_->port());
    for (int i = 1; i <= 2; ++i) {  // the session is kept
      ASSERT_TRUE(client.send(net::get("/x")));
      EXPECT_EQ(client.hear_reply().value_or(""), ok(fmt::format("answer {}", i)));
    }
    const auto seen = tls_upstream_->seen();
    ASSERT_EQ(seen.size(), 3U);
    EXPECT_EQ(seen[0], host == "localhost" ? "localhost" : "no name");  // SNI is for names
    EXPECT_EQ(seen[1], net::get("/x"));
  }
}

TEST_F(TlsTest, NothingIsSentToAnUpstreamThatCannotProveItsName) {
  const Identity stranger = make_identity("stranger", "", nullptr);
  const auto refused = [&](const Identity& identity, const std::string& reason, bool trusting) {
    start_tls(identity, answer_all_tls, "localhost", trusting);
    const auto reply = ask();
    EXPECT_EQ(net::status_of(reply), 502);
    EXPECT_NE(reply.find(reason), std::string::npos) << reply;
    EXPECT_NE(reply.find("nothing was sent"), std::string::npos) << reply;
    proxy_.reset();
    for (const auto& what : tls_upstream_->seen()) EXPECT_EQ(what.find("GET"), std::string::npos);
  };
  const std::string names = "DNS:localhost";
  refused(make_identity("s", "DNS:other.example", &authority_), "hostname mismatch", true);
  refused(make_identity("localhost", names, &stranger), "unable to get local issuer", true);
  refused(make_identity("localhost", names, nullptr), "self-signed", true);
  refused(make_identity("s", names, &authority_, -7'200, -3'600), "expired", true);
  refused(make_identity("s", names, &authority_), "issuer", false);  // the system trusts it not
}

TEST_F(TlsTest, AReplyThatTlsDoesNotVouchForIsNotWhole) {
  for (const bool says_goodbye : {true, false}) {
    start_tls(
        make_identity("s", kBothNames, &authority_),
        [says_goodbye](SSL* ssl, TlsUpstream&) {
          TlsUpstream::read_head(ssl);
          TlsUpstream::write(ssl, "HTTP/1.1 200 OK\r\n\r\nuntil the end");
          if (says_goodbye) SSL_shutdown(ssl);
        },
        "localhost");
    net::RawClient client(proxy_->port());
    ASSERT_TRUE(client.send(net::get("/")));
    const auto heard = client.hear_all();
    EXPECT_EQ(heard.end, says_goodbye ? net::RawClient::End::fin : net::RawClient::End::reset);
    EXPECT_EQ(logged(1).delivered, says_goodbye);
  }
}

TEST_F(TlsTest, AStaleSessionIsReplacedBeforeAnythingIsSent) {
  start_tls(
      make_identity("s", kBothNames, &authority_),
      [](SSL* ssl, TlsUpstream& upstream) {
        upstream.saw(TlsUpstream::read_head(ssl));
        TlsUpstream::write(ssl, ok("answer"));
        SSL_shutdown(ssl);
      },
      "localhost");
  net::RawClient client(proxy_->port());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.send(net::get("/")));
    EXPECT_EQ(client.hear_reply().value_or(""), ok("answer"));
    client.hear_all(Milliseconds{50});  // the goodbye is at the proxy
  }
  EXPECT_EQ(tls_upstream_->seen().size(), 3U);
}

TEST_F(TlsTest, LargeBodiesPassBothWays) {
  static constexpr std::size_t kBytes = 8 << 20;
  start_tls(
      make_identity("s", kBothNames, &authority_),
      [](SSL* ssl, TlsUpstream& upstream) {
        TlsUpstream::read_head(ssl);
        std::string body(kBytes, '\0');
        std::size_t have = 0;
        while (have < kBytes) {
          const int got = SSL_read(ssl, body.data() + have, static_cast<int>(kBytes - have));
          if (got <= 0) return;
          have += static_cast<std::size_t>(got);
        }
        upstream.saw(sha256_hex(body));
        TlsUpstream::write(ssl, ok(body));
      },
      "localhost");
  std::string body(kBytes, '\0');
  for (std::size_t i = 0; i < kBytes; ++i) body[i] = static_cast<char>(i * 31 >> 3);
  net::RawClient client(proxy_->port());
  ASSERT_TRUE(client.send(net::post("/", body)));
  EXPECT_EQ(net::body_of(client.hear_reply().value_or("")), body);
  EXPECT_EQ(tls_upstream_->seen(), std::vector<std::string>{sha256_hex(body)});
}

TEST_F(TlsTest, APlainServerIsNoTlsServer) {
  ScriptedUpstream plain([](ScriptedUpstream::Peer& peer) {
    peer.saw(peer.read_exactly(1));
    peer.send("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  ProxyOptions options;
  options.upstream = fmt::format("https://localhost:{}", plain.port());
  options.ca_file = ca_file();
  start_before(std::move(options));
  EXPECT_NE(ask().find("upstream_unreachable"), std::string::npos);
  proxy_.reset();
}

TEST_F(TlsTest, AuthoritiesMustBeReadable) {
  EXPECT_FALSE(Upstream::make("https://localhost:1", "/nowhere/ca.pem").has_value());
  EXPECT_FALSE(Upstream::make("http://localhost:1", ca_file()).has_value());
  EXPECT_TRUE(Upstream::make("https://localhost:1", ca_file()).has_value());
}

}  // namespace
}  // namespace onceproof::proxy
