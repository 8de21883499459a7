#include "net/listener.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

#include "base/check.h"
#include "base/text.h"

namespace onceproof::net {
namespace {

constexpr int kBacklog = 1024;

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
  std::string host;  // as in a URL
};

std::optional<Address> parse_address(std::string_view bind, int port) {
  const std::string text(bind == "localhost" ? "127.0.0.1" : bind);
  Address address;
  auto* in = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* in6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (::inet_pton(AF_INET, text.c_str(), &in->sin_addr) == 1) {
    in->sin_family = AF_INET;
    in->sin_port = htons(static_cast<std::uint16_t>(port));
    address.length = sizeof *in;
    address.host = text;
    return address;
  }
  if (::inet_pton(AF_INET6, text.c_str(), &in6->sin6_addr) == 1) {
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(static_cast<std::uint16_t>(port));
    address.length = sizeof *in6;
    address.host = "[" + text + "]";
    return address;
  }
  return std::nullopt;
}

tl::unexpected<Error> cannot_listen(const ListenOptions& options, int error) {
  const ErrorCode code = error == EADDRINUSE                         ? ErrorCode::port_busy
                         : error == EADDRNOTAVAIL || error == EACCES ? ErrorCode::invalid_argument
                                                                     : ErrorCode::io_failed;
  std::string advice;
  if (error == EADDRINUSE) advice = "; stop what listens there, or take another port (0: any)";
  if (error == EACCES) advice = "; ports from 1024 on need no privilege";
  if (error == EADDRNOTAVAIL) advice = "; take an address of this machine";
  return fail(code, fmt::format("cannot listen on {}:{}: {}{}", escape_terminal(options.bind),
                                options.port, std::generic_category().message(error), advice));
}

int port_of(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  CHECK(::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) == 0);
  return ntohs(storage.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

}  // namespace

bool is_loopback(std::string_view bind) {
  const auto address = parse_address(bind, 0);
  if (!address) return false;
  if (address->storage.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address->storage);
    return (ntohl(in.sin_addr.s_addr) >> 24) == 127;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address->storage).sin6_addr);
}

Result<std::unique_ptr<Listener>> Listener::start(const ListenOptions& options, Serve serve,
                                                  Clock& clock) {
  CHECK(options.connections > 0);
  std::unique_ptr<Listener> listener(new Listener(std::move(serve), options.connections, clock));
  if (auto opened = listener->open(options); !opened) return tl::unexpected(opened.error());
  Listener* self = listener.get();
  listener->accepting_ =
      std::jthread([self](const std::stop_token& stop) { self->accept_loop(stop); });
  return listener;
}

Result<void> Listener::open(const ListenOptions& options) {
  if (options.port < 0 || options.port > 65'535) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("port {} does not exist; take 0 to 65535", options.port));
  }
  const auto address = parse_address(options.bind, options.port);
  if (!address) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("cannot listen on '{}': write an IP address such as 127.0.0.1 or ::1",
                            escape_terminal(options.bind)));
  }
  wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  listening_ =
      UniqueFd(::socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!wake_.valid() || !listening_.valid()) return cannot_listen(options, errno);
  const int yes = 1;
  // Not SO_REUSEPORT: a second server would bind the same port and silently take half the traffic.
  ::setsockopt(listening_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address->storage),
             address->length) != 0 ||
      ::listen(listening_.get(), kBacklog) != 0) {
    return cannot_listen(options, errno);
  }
  host_ = address->host;
  port_ = port_of(listening_.get());
  return {};
}

Listener::~Listener() {
  if (!accepting_.joinable()) return;
  accepting_.request_stop();
  const std::uint64_t one = 1;
  CHECK(::write(wake_.get(), &one, sizeof one) == sizeof one);
  accepting_.join();  // from here on nobody adds a slot
  {
    const std::scoped_lock lock(mutex_);
    for (auto& slot : slots_) {
      slot.thread.request_stop();
      slot.connection.socket().cut();
    }
  }
  slots_.clear();  // joins; a thread that ends takes mutex_ meanwhile
}

std::string Listener::url() const {
  return fmt::format("http://{}:{}", host_, port_);
}

std::size_t Listener::connections() {
  const std::scoped_lock lock(mutex_);
  return active_;
}

void Listener::accept_loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pollfd entries[2] = {{listening_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    // Nobody is cut to make room before somebody waits for it.
    if (::poll(entries, 2, -1) < 0 || entries[0].revents == 0 || !make_room(stop)) continue;
    UniqueFd fd(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (fd.valid()) {
      start_connection(std::move(fd));
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      ::poll(&entries[1], 1, 10);  // others must give something back first
    }
  }
}

void Listener::start_connection(UniqueFd fd) {
  join_ended();
  const std::scoped_lock lock(mutex_);
  slots_.emplace_back(std::move(fd), ++accepted_, clock_);
  Slot& slot = slots_.back();
  ++active_;
  try {
    slot.thread = std::jthread([this, &slot](const std::stop_token& stop) { run(slot, stop); });
  } catch (const std::system_error&) {  // the system has no thread to give: this client is cut
    slots_.pop_back();
    --active_;
  }
}

void Listener::run(Slot& slot, const std::stop_token& stop) {
  try {
    serve_(slot.connection, stop);
  } catch (...) {  // thread entry: a bug in a service must not end the process; the client sees FIN
  }
  slot.connection.socket().close();
  const std::scoped_lock lock(mutex_);
  slot.ended = true;
  --active_;
  ended_.notify_all();
}

bool Listener::make_room(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (active_ < limit_) return true;
    cut_longest_idle();
    // All may be busy now and one idle soon, which nobody announces: look again.
    ended_.wait_for(lock, stop, Milliseconds{20}, [&] { return active_ < limit_; });
  }
  return false;
}

void Listener::cut_longest_idle() {
  Slot* longest = nullptr;
  MonotonicTime since = Connection::kBusy;
  for (auto& slot : slots_) {
    const MonotonicTime idle_since = slot.connection.idle_since_;
    if (!slot.ended && idle_since < since) {
      longest = &slot;
      since = idle_since;
    }
  }
  if (longest != nullptr && longest->connection.socket().cut_if_quiet()) {
    longest->connection.busy();  // not chosen again while its thread ends
  }
}

void Listener::join_ended() {
  std::list<Slot> ended;
  const std::scoped_lock lock(mutex_);
  for (auto it = slots_.begin(); it != slots_.end();) {
    const auto next = std::next(it);
    // Its thread has done all but return, and takes mutex_ no more.
    if (it->ended) ended.splice(ended.end(), slots_, it);
    it = next;
  }
}

}  // namespace onceproof::net
