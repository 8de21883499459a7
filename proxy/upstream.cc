#include "proxy/upstream.h"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <system_error>

#include "base/text.h"

namespace onceproof::proxy {
namespace {

constexpr int kPollMs = 20;  // how late a stop can be noticed while a connection is being made

tl::unexpected<Error> wrong_url(std::string_view url, std::string_view why) {
  return fail(ErrorCode::invalid_argument,
              fmt::format("upstream '{}': {}; write http://HOST:PORT or https://HOST:PORT",
                          escape_terminal(shorten(url, 200)), why));
}

std::optional<int> parse_port(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port < 1 || port > 65'535) {
    return std::nullopt;
  }
  return port;
}

// 0, or why the connection could not be made.
int finish_connect(int fd, MonotonicTime deadline, const Clock& clock,
                   const std::stop_token& stop) {
  for (;;) {
    pollfd entry{fd, POLLOUT, 0};
    if (::poll(&entry, 1, kPollMs) > 0) break;
    if (stop.stop_requested()) return ECANCELED;
    if (clock.monotonic() >= deadline) return ETIMEDOUT;
  }
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

}  // namespace

Result<UpstreamUrl> parse_upstream_url(std::string_view url) {
  UpstreamUrl parsed;
  std::string_view rest = url;
  const std::string lower = to_lower(url.substr(0, 8));
  parsed.tls = lower.starts_with("https://");
  if (!parsed.tls && !lower.starts_with("http://")) return wrong_url(url, "no http or https URL");
  rest.remove_prefix(parsed.tls ? 8 : 7);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const bool clean = std::ranges::all_of(rest, [](char c) { return c > 0x20 && c < 0x7f; });
  if (!clean || rest.find_first_of("/?#@\\") != std::string_view::npos) {
    return wrong_url(url, "no path, query, user or space may be in it: targets pass as they are");
  }
  const bool bracketed = rest.starts_with('[');
  const auto host_end = bracketed ? rest.find(']') : rest.find(':');
  if (bracketed && host_end == std::string_view::npos) return wrong_url(url, "no closing ]");
  parsed.host = bracketed ? rest.substr(1, host_end - 1) : rest.substr(0, host_end);
  std::string_view port =
      host_end == std::string_view::npos ? "" : rest.substr(host_end + (bracketed ? 1 : 0));
  if (parsed.host.empty()) return wrong_url(url, "no host");
  const int usual = parsed.tls ? 443 : 80;
  parsed.port = usual;
  if (!port.empty()) {
    const auto number = port.starts_with(':') ? parse_port(port.substr(1)) : std::nullopt;
    if (!number) return wrong_url(url, "the port must be a number from 1 to 65535");
    parsed.port = *number;
  }
  parsed.authority = bracketed ? "[" + parsed.host + "]" : parsed.host;
  if (parsed.port != usual) parsed.authority += fmt::format(":{}", parsed.port);
  return parsed;
}

UpstreamConnection::UpstreamConnection(UniqueFd fd, Clock& clock, std::stop_token stop)
    : clock_(clock),
      socket_(std::move(fd), clock),
      cutter_(std::move(stop), [this] { socket_.cut(); }) {}

UpstreamConnection::~UpstreamConnection() {
  if (tls_ && !broken_ && outbox_.empty()) socket_.write(tls_->farewell(), clock_.monotonic());
}

Result<void> UpstreamConnection::encrypt(const TlsContext& context, std::string_view host,
                                         MonotonicTime deadline) {
  tls_ = std::make_unique<Tls>(context, socket_, host);
  auto shaken = tls_->shake_hands(deadline);
  broken_ = !shaken.has_value();
  return shaken;
}

bool UpstreamConnection::is_quiet() {
  std::string unasked;
  return !broken_ && outbox_.empty() &&
         read_some(unasked, clock_.monotonic()) == net::Socket::Arrival::timed_out;
}

net::Socket::Arrival UpstreamConnection::read_some(std::string& into, MonotonicTime deadline) {
  return tls_ ? tls_->read_some(into, deadline) : socket_.read_some(into, deadline);
}

void UpstreamConnection::put(std::string_view bytes) {
  if (bytes.empty() || broken_) return;
  if (!tls_) {
    outbox_ += bytes;
  } else {
    const std::string sealed = tls_->seal(bytes);
    if (sealed.empty()) broken_ = true;
    outbox_ += sealed;
  }
  flush();
}

bool UpstreamConnection::flush() {
  if (broken_) return false;
  if (outbox_.empty()) return true;
  const std::size_t taken = socket_.write(outbox_, clock_.monotonic());
  left_ = left_ || taken > 0;
  outbox_.erase(0, taken);
  if (taken > 0 || outbox_.empty()) return true;
  // Nothing was taken: the kernel is full, or the connection is dead. Only the latter has an end.
  const auto found =
      net::Socket::await(socket_, socket_, {{.write = true}, {.ended = true}}, clock_.monotonic());
  if (found.first.write) {
    const std::size_t again = socket_.write(outbox_, clock_.monotonic());
    left_ = left_ || again > 0;
    outbox_.erase(0, again);
    broken_ = again == 0;
  }
  return !broken_;
}

Result<std::unique_ptr<Upstream>> Upstream::make(std::string_view url,
                                                 const std::filesystem::path& ca_file) {
  auto parsed = parse_upstream_url(url);
  if (!parsed) return tl::unexpected(parsed.error());
  auto upstream = std::make_unique<Upstream>();
  upstream->url_ = std::move(*parsed);
  if (!upstream->url_.tls && !ca_file.empty()) {
    return fail(ErrorCode::invalid_argument, "certificates to trust need an https upstream");
  }
  if (upstream->url_.tls) {
    auto context = TlsContext::make(ca_file);
    if (!context) return tl::unexpected(context.error());
    upstream->tls_ = std::move(*context);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(upstream->url_.port);
  const int error = ::getaddrinfo(upstream->url_.host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) {
    return fail(ErrorCode::connection_failed,
                fmt::format("upstream host '{}': {}", escape_terminal(upstream->url_.host),
                            ::gai_strerror(error)));
  }
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    Address address;
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    address.length = each->ai_addrlen;
    upstream->addresses_.push_back(address);
  }
  ::freeaddrinfo(found);
  return upstream;
}

Result<std::unique_ptr<UpstreamConnection>> Upstream::connect(Milliseconds timeout, Clock& clock,
                                                              const std::stop_token& stop) const {
  const auto deadline = clock.monotonic() + timeout;
  int error = EHOSTUNREACH;
  for (const auto& address : addresses_) {
    UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    error = fd.valid() ? 0 : errno;
    if (fd.valid() && ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage),
                                address.length) != 0) {
      error = errno == EINPROGRESS ? finish_connect(fd.get(), deadline, clock, stop) : errno;
    }
    if (error == ECANCELED || error == ETIMEDOUT) break;
    if (error != 0) continue;
    auto connection = std::make_unique<UpstreamConnection>(std::move(fd), clock, stop);
    if (!tls_) return connection;
    if (auto done = connection->encrypt(*tls_, url_.host, deadline); !done) {
      return tl::unexpected(done.error());
    }
    return connection;
  }
  return fail(ErrorCode::connection_failed,
              fmt::format("{}:{}: {}", escape_terminal(url_.host), url_.port,
                          std::generic_category().message(error)));
}

}  // namespace onceproof::proxy
