#include "reference/http_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <httplib.h>
#include <netdb.h>

#include <charconv>
#include <cstring>
#include <deque>

#include "base/guarded.h"
#include "base/text.h"
#include "reference/deadline_socket.h"

namespace onceproof {
namespace {

constexpr std::size_t kMaxHeadBytes = 64 << 10;
// httplib matches a status line with std::regex, whose recursion is as deep as the line is long.
constexpr std::size_t kMaxStatusLine = 512;
constexpr std::size_t kMaxHeaderLine = 8 << 10;
constexpr std::size_t kMaxIdleConnections = 16;
constexpr std::chrono::seconds kMaxIdle{3};  // servers close idle connections after 5 s and more

// What httplib reads and writes through.
class DeadlineStream final : public httplib::Stream {
 public:
  explicit DeadlineStream(DeadlineSocket& socket) : socket_(socket) {}

  bool is_readable() const override { return socket_.trouble() == DeadlineSocket::Trouble::none; }
  bool is_writable() const override { return is_readable(); }
  ssize_t read(char* bytes, size_t size) override {
    const ssize_t count = socket_.receive(bytes, size);
    if (count == 1 && size == 1 && !line_is_short_enough(*bytes)) return -1;
    return count;
  }
  ssize_t write(const char* bytes, size_t size) override {
    return socket_.send_all(bytes, size) ? static_cast<ssize_t>(size) : -1;
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_.fd(); }
  bool line_too_long() const { return line_too_long_; }

 private:
  // httplib reads lines byte by byte, and bodies in larger pieces. A status line comes first, or
  // after an empty line (100).
  bool line_is_short_enough(char byte) {
    ++line_bytes_;
    if (byte == '\n') {
      limit_ = line_bytes_ <= 2 ? kMaxStatusLine : kMaxHeaderLine;
      line_bytes_ = 0;
    }
    if (line_bytes_ > limit_) line_too_long_ = true;
    return !line_too_long_;
  }

  DeadlineSocket& socket_;
  std::size_t line_bytes_ = 0;
  std::size_t limit_ = kMaxStatusLine;
  bool line_too_long_ = false;
};

// Opens the one door that httplib has below its own sockets, retries and redirects.
class Exchanger final : public httplib::ClientImpl {
 public:
  using ClientImpl::ClientImpl;
  bool run(httplib::Stream& stream, httplib::Request& request, httplib::Response& response) {
    auto error = httplib::Error::Success;
    try {
      return process_request(stream, request, response, /*close_connection=*/false, error);
    } catch (const std::exception&) {  // what came could not even be read
      return false;
    }
  }
};

ExchangeEnd find_end(const DeadlineSocket& socket, bool line_too_long) {
  using Trouble = DeadlineSocket::Trouble;
  switch (socket.trouble()) {
    case Trouble::timed_out:
      return socket.sent() == 0 ? ExchangeEnd::not_sent : ExchangeEnd::timed_out;
    case Trouble::send_failed:
      return socket.sent() == 0 ? ExchangeEnd::not_sent : ExchangeEnd::send_broken;
    case Trouble::too_long:
      return ExchangeEnd::too_large;
    case Trouble::reset:
      return socket.received() == 0 ? ExchangeEnd::no_answer : ExchangeEnd::answer_cut;
    case Trouble::none:
      break;
  }
  if (line_too_long || !socket.ended()) return ExchangeEnd::malformed;
  return socket.received() == 0 ? ExchangeEnd::no_answer : ExchangeEnd::answer_cut;
}

struct Url {
  std::string host;
  int port = 80;
  std::string path;  // without a slash at its end
};

Result<Url> parse_url(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("url '{}': {}; it has the form http://host[:port][/path]",
                            escape_terminal(shorten(text, 200)), why));
  };
  if (text.starts_with("https://")) {
    return fail(
        ErrorCode::unsupported,
        fmt::format("url '{}': https is not offered; put a proxy that speaks TLS in between",
                    escape_terminal(shorten(text, 200))));
  }
  constexpr std::string_view kScheme = "http://";
  if (!text.starts_with(kScheme)) return wrong("the scheme is not http");
  for (const char c : text) {
    if (c <= 0x20 || c >= 0x7f) return wrong("a character is not visible ASCII");
  }
  if (text.find_first_of("?#@") != text.npos) return wrong("it has a query, a fragment or a user");
  std::string_view rest = text.substr(kScheme.size());
  const auto slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  Url url;
  url.path = rest.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  std::string_view port;
  if (authority.starts_with('[')) {  // an IPv6 address
    const auto bracket = authority.find(']');
    if (bracket == authority.npos) return wrong("a ] is missing");
    port = authority.substr(bracket + 1);
    authority = authority.substr(1, bracket - 1);
  } else if (const auto colon = authority.find(':'); colon != authority.npos) {
    port = authority.substr(colon);
    authority = authority.substr(0, colon);
  }
  if (!port.empty()) {
    const char* last = port.data() + port.size();
    const auto [end, error] = std::from_chars(port.data() + 1, last, url.port);
    if (port[0] != ':' || error != std::errc() || end != last || url.port < 1 || url.port > 65535) {
      return wrong("the port is not a number from 1 to 65535");
    }
  }
  url.host = authority;
  if (url.host.empty()) return wrong("the host is missing");
  return url;
}

Result<std::vector<SocketAddress>> find_addresses(const Url& url) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  // Always this machine, also where /etc/hosts is missing. Source: RFC 6761, section 6.3.
  const char* name = url.host == "localhost" ? nullptr : url.host.c_str();
  const int error = ::getaddrinfo(name, std::to_string(url.port).c_str(), &hints, &list);
  if (error != 0) {
    return fail(ErrorCode::connection_failed,
                fmt::format("host '{}': {}", escape_terminal(url.host), ::gai_strerror(error)));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    SocketAddress address;
    address.length = entry->ai_addrlen;
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    addresses.push_back(address);
  }
  ::freeaddrinfo(list);
  return addresses;
}

}  // namespace

struct HttpClient::State {
  struct Idle {
    std::unique_ptr<DeadlineSocket> socket;
    MonotonicTime since;
  };

  Clock& clock;
  Url url;
  std::vector<SocketAddress> addresses;
  std::size_t max_answer_bytes;
  Guarded<std::deque<Idle>> idle;  // the last one used is at the back

  // A kept connection that is still good, or a new one; nullptr: none in time.
  std::unique_ptr<DeadlineSocket> take(MonotonicTime deadline) {
    while (true) {
      std::unique_ptr<DeadlineSocket> kept;
      {
        auto locked = idle.lock();
        const auto oldest = clock.monotonic() - kMaxIdle;
        while (!locked->empty() && locked->front().since < oldest) locked->pop_front();
        if (locked->empty()) break;
        kept = std::move(locked->back().socket);
        locked->pop_back();
      }
      if (kept->is_idle()) return kept;
    }
    auto fresh = std::make_unique<DeadlineSocket>(clock);
    if (!fresh->connect(addresses, deadline)) return nullptr;
    return fresh;
  }

  void keep(std::unique_ptr<DeadlineSocket> socket) {
    if (!socket->is_idle()) return;
    auto locked = idle.lock();
    if (locked->size() >= kMaxIdleConnections) locked->pop_front();
    locked->push_back({std::move(socket), clock.monotonic()});
  }
};

HttpClient::HttpClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpClient::~HttpClient() = default;

Result<std::unique_ptr<HttpClient>> HttpClient::make(std::string_view text, Clock& clock,
                                                     std::size_t max_answer_bytes) {
  auto url = parse_url(text);
  if (!url) return tl::unexpected(url.error());
  auto addresses = find_addresses(*url);
  if (!addresses) return tl::unexpected(addresses.error());
  std::unique_ptr<State> state(
      new State{clock, std::move(*url), std::move(*addresses), max_answer_bytes, {}});
  return std::unique_ptr<HttpClient>(new HttpClient(std::move(state)));
}

Exchange HttpClient::exchange(const HttpRequest& wanted, Milliseconds timeout) {
  const MonotonicTime deadline = state_->clock.monotonic() + timeout;
  Exchange exchange;
  auto socket = state_->take(deadline);
  if (socket == nullptr) return exchange;  // not_sent
  socket->begin(deadline, kMaxHeadBytes + state_->max_answer_bytes);

  httplib::Request request;
  request.method = wanted.method;
  request.path = state_->url.path + wanted.target;
  for (const auto& [name, value] : wanted.headers) request.headers.emplace(name, value);
  const auto add_missing = [&](const char* name, const char* value) {
    if (!request.has_header(name)) request.headers.emplace(name, value);
  };
  add_missing("User-Agent", "onceproof");
  add_missing("Accept-Encoding", "identity");
  if (wanted.method != "GET") add_missing("Content-Type", "application/json");
  request.body = wanted.body;

  httplib::Response response;
  DeadlineStream stream(*socket);
  Exchanger exchanger(state_->url.host, state_->url.port);
  exchanger.set_url_encode(false);
  exchanger.set_decompress(false);
  const bool whole = exchanger.run(stream, request, response);
  if (response.status > 0) exchange.status = response.status;
  exchange.end = whole ? ExchangeEnd::complete : find_end(*socket, stream.line_too_long());
  if (whole && response.body.size() > state_->max_answer_bytes)
    exchange.end = ExchangeEnd::too_large;
  if (exchange.end != ExchangeEnd::complete) return exchange;  // the connection is closed

  exchange.content_type = response.get_header_value("Content-Type");
  exchange.retry_after = response.get_header_value("Retry-After");
  exchange.body = std::move(response.body);
  const bool closing =
      response.get_header_value("Connection") == "close" || response.version != "HTTP/1.1";
  if (!closing) state_->keep(std::move(socket));
  return exchange;
}

}  // namespace onceproof
