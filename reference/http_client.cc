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
constexpr int kMaxInterimAnswers = 8;
constexpr std::size_t kMaxIdleConnections = 16;
constexpr std::chrono::seconds kMaxIdle{3};  // servers close idle connections after 5 s and more

// What httplib reads and writes through. The answer's head is read here first, line by line: within
// limits, without the interim answers that may come before it (100, 103), and as it came, for
// httplib percent-decodes what stands in a header. Source: RFC 9110, section 15.2.
class DeadlineStream final : public httplib::Stream {
 public:
  explicit DeadlineStream(DeadlineSocket& socket) : socket_(socket) {}

  bool is_readable() const override { return socket_.trouble() == DeadlineSocket::Trouble::none; }
  bool is_writable() const override { return is_readable(); }
  ssize_t read(char* bytes, size_t size) override {
    if (!head_is_read_ && !read_head()) return -1;
    if (given_ < head_.size()) {
      const auto count = std::min(size, head_.size() - given_);
      std::copy_n(head_.data() + given_, count, bytes);
      given_ += count;
      return static_cast<ssize_t>(count);
    }
    const ssize_t count = socket_.receive(bytes, size);
    // httplib reads lines, those before chunks, byte by byte, and bodies in larger pieces.
    line_bytes_ = size == 1 && count == 1 && *bytes != '\n' ? line_bytes_ + 1 : 0;
    if (line_bytes_ > kMaxHeaderLine) malformed_ = true;
    return malformed_ ? -1 : count;
  }
  ssize_t write(const char* bytes, size_t size) override {
    return socket_.send_all(bytes, size) ? static_cast<ssize_t>(size) : -1;
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_.fd(); }
  bool malformed() const { return malformed_; }
  const std::string& head() const { return head_; }

 private:
  bool read_head() {
    for (int interim = 0; interim <= kMaxInterimAnswers; ++interim) {
      head_.clear();
      std::size_t limit = kMaxStatusLine;
      while (true) {
        const auto begin = head_.size();
        if (!read_line(limit)) return false;
        if (!head_.starts_with("HTTP/")) return give_up();  // it may never send an empty line
        if (head_.size() - begin <= 2) break;
        limit = kMaxHeaderLine;
      }
      head_is_read_ = !is_interim();
      if (head_is_read_) return true;
    }
    return give_up();  // as good as an endless head
  }
  bool give_up() {
    malformed_ = true;
    return false;
  }
  bool read_line(std::size_t limit) {
    for (std::size_t length = 0; length <= limit; ++length) {
      char byte = 0;
      if (socket_.receive(&byte, 1) != 1) return false;
      head_ += byte;
      if (byte == '\n') return true;
    }
    return give_up();
  }
  bool is_interim() const {
    return (head_.starts_with("HTTP/1.1 1") || head_.starts_with("HTTP/1.0 1")) &&
           !head_.starts_with("HTTP/1.1 101");
  }

  DeadlineSocket& socket_;
  std::string head_;
  bool head_is_read_ = false;
  std::size_t given_ = 0;  // of the head, to httplib
  std::size_t line_bytes_ = 0;
  bool malformed_ = false;
};

// Behind the status line. A line that goes on a line before it (obsolete) belongs to nobody.
HeaderLines parse_header_lines(std::string_view head) {
  HeaderLines lines;
  while (true) {
    const auto newline = head.find('\n');
    if (newline == std::string_view::npos) return lines;
    head.remove_prefix(newline + 1);
    const auto line = head.substr(0, head.find_first_of("\r\n"));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0 || line.front() <= ' ') continue;
    lines.emplace_back(line.substr(0, colon), trim(line.substr(colon + 1)));
  }
}

std::string first_line(const Exchange& exchange, std::string_view name) {
  const auto lines = header_lines(exchange.headers, name);
  return lines.empty() ? std::string() : lines.front();
}

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

ExchangeEnd find_end(const DeadlineSocket& socket, bool malformed) {
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
  if (malformed || !socket.ended()) return ExchangeEnd::malformed;
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
  std::unique_ptr<DeadlineSocket> take(MonotonicTime deadline, bool new_one) {
    while (!new_one) {
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

std::vector<std::string> header_lines(const HeaderLines& headers, std::string_view name) {
  std::vector<std::string> lines;
  const std::string wanted = to_lower(name);
  for (const auto& [header, value] : headers) {
    if (to_lower(header) == wanted) lines.push_back(value);
  }
  return lines;
}

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
  auto socket = state_->take(deadline, wanted.new_connection);
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
  exchange.end = whole ? ExchangeEnd::complete : find_end(*socket, stream.malformed());
  if (whole && response.body.size() > state_->max_answer_bytes)
    exchange.end = ExchangeEnd::too_large;
  if (exchange.end != ExchangeEnd::complete) return exchange;  // the connection is closed

  exchange.headers = parse_header_lines(stream.head());
  exchange.content_type = first_line(exchange, "Content-Type");
  exchange.retry_after = first_line(exchange, "Retry-After");
  exchange.body = std::move(response.body);
  const bool closing =
      to_lower(first_line(exchange, "Connection")) == "close" || response.version != "HTTP/1.1";
  if (!closing) state_->keep(std::move(socket));
  return exchange;
}

}  // namespace onceproof
