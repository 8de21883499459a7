#include "net/socket.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace onceproof::net {
namespace {

constexpr std::size_t kReadBytes = 16 << 10;
constexpr std::size_t kDroppedBytes = 8 << 20;  // of a refused body; then the peer gets its RST

int milliseconds_until(MonotonicTime deadline, MonotonicTime now) {
  const auto left = std::chrono::ceil<Milliseconds>(deadline - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

}  // namespace

Socket::Socket(UniqueFd fd, Clock& clock) : clock_(clock), fd_(std::move(fd)) {
  const int yes = 1;
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

Socket::~Socket() {
  close();
}

bool Socket::wait_for(short events, MonotonicTime deadline) {
  pollfd entry{fd_.get(), events, 0};
  int ready = 0;
  do {
    ready = ::poll(&entry, 1, milliseconds_until(deadline, clock_.monotonic()));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

Socket::Arrival Socket::read_some(std::string& into, MonotonicTime deadline) {
  const std::size_t before = into.size();
  into.resize(before + kReadBytes);
  ssize_t got = 0;
  for (;;) {
    got = ::recv(fd_.get(), into.data() + before, kReadBytes, MSG_DONTWAIT);
    if (got >= 0 || (errno != EAGAIN && errno != EINTR)) break;
    if (errno == EAGAIN && !wait_for(POLLIN, deadline)) {
      into.resize(before);
      return Arrival::timed_out;
    }
  }
  was_reset_ = got < 0;
  into.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return got > 0 ? Arrival::bytes : Arrival::closed;
}

Socket::Pair Socket::await(Socket& first, Socket& second, const Pair& asked,
                           MonotonicTime deadline) {
  const auto events_of = [](const Events& events) {
    return static_cast<short>((events.read ? POLLIN : 0) | (events.write ? POLLOUT : 0) |
                              (events.ended ? POLLRDHUP : 0));
  };
  // An entry of which nothing is asked is left out: poll() would tell of its end all the same.
  const auto entry_of = [&](const Socket& socket, const Events& events) {
    return pollfd{events_of(events) == 0 ? -1 : socket.fd_.get(), events_of(events), 0};
  };
  pollfd entries[2] = {entry_of(first, asked.first), entry_of(second, asked.second)};
  int ready = 0;
  do {
    ready = ::poll(entries, 2, milliseconds_until(deadline, first.clock_.monotonic()));
  } while (ready < 0 && errno == EINTR);
  const auto found = [&](const pollfd& entry, const Events& wanted) {
    if (ready <= 0) return Events{};
    const bool over = (entry.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
    return Events{wanted.read && (over || (entry.revents & POLLIN) != 0),
                  wanted.write && (over || (entry.revents & POLLOUT) != 0),
                  wanted.ended && (over || (entry.revents & POLLRDHUP) != 0)};
  };
  return {found(entries[0], asked.first), found(entries[1], asked.second)};
}

std::size_t Socket::write(std::string_view bytes, MonotonicTime deadline, bool more) {
  const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = ::send(fd_.get(), bytes.data() + done, bytes.size() - done, flags);
    if (put >= 0) {
      done += static_cast<std::size_t>(put);
    } else if (errno == EAGAIN) {
      if (!wait_for(POLLOUT, deadline)) break;
    } else if (errno != EINTR) {
      break;
    }
  }
  return done;
}

void Socket::await_peer_end(MonotonicTime deadline) {
  wait_for(POLLRDHUP, deadline);
}

void Socket::await_acknowledged() {
  // The kernel has no event for it: asked once a millisecond.
  for (int i = 0; i < 200; ++i) {
    int unacknowledged = 0;
    if (::ioctl(fd_.get(), SIOCOUTQ, &unacknowledged) != 0 || unacknowledged == 0) return;
    if (wait_for(POLLRDHUP, clock_.monotonic() + Milliseconds{1})) return;
  }
}

void Socket::drop_arrived() {
  char dropped[4096];
  std::size_t total = 0;
  ssize_t got = 0;
  while (total < kDroppedBytes &&
         (got = ::recv(fd_.get(), dropped, sizeof dropped, MSG_DONTWAIT)) > 0) {
    total += static_cast<std::size_t>(got);
  }
}

void Socket::close() {
  const std::scoped_lock lock(closing_);
  if (!fd_.valid()) return;
  ::shutdown(fd_.get(), SHUT_WR);
  drop_arrived();  // close() with unread input sends RST
  fd_.reset();
}

void Socket::reset() {
  const std::scoped_lock lock(closing_);
  if (!fd_.valid()) return;
  const linger now{1, 0};  // close() then sends RST; a shutdown() before it would send FIN
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  fd_.reset();
}

void Socket::close_gently(Milliseconds patience) {
  ::shutdown(fd_.get(), SHUT_WR);
  const auto deadline = clock_.monotonic() + patience;
  std::string dropped;
  std::size_t total = 0;
  while (total < kDroppedBytes && clock_.monotonic() < deadline &&
         read_some(dropped, deadline) == Arrival::bytes) {
    total += dropped.size();
    dropped.clear();
  }
  close();
}

void Socket::cut() {
  const std::scoped_lock lock(closing_);
  if (fd_.valid()) ::shutdown(fd_.get(), SHUT_RDWR);
}

bool Socket::cut_if_quiet() {
  const std::scoped_lock lock(closing_);
  char byte = 0;
  if (!fd_.valid() || ::recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0) return false;
  ::shutdown(fd_.get(), SHUT_RDWR);
  return true;
}

}  // namespace onceproof::net
