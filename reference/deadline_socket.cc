#include "reference/deadline_socket.h"

#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace onceproof {

bool DeadlineSocket::connect(const std::vector<SocketAddress>& addresses, MonotonicTime deadline) {
  return std::any_of(addresses.begin(), addresses.end(),
                     [&](const SocketAddress& address) { return connect_one(address, deadline); });
}

bool DeadlineSocket::connect_one(const SocketAddress& address, MonotonicTime deadline) {
  UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return false;
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fd_ = std::move(fd);
  const auto* name = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(fd_.get(), name, address.length) == 0) return true;
  int error = errno;
  if (error == EINPROGRESS && wait_for(POLLOUT, deadline)) {
    socklen_t length = sizeof error;
    if (::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0) {
      return true;
    }
  }
  fd_.reset();
  return false;
}

void DeadlineSocket::begin(MonotonicTime deadline, std::size_t max_received) {
  deadline_ = deadline;
  max_received_ = max_received;
  sent_ = 0;
  received_ = 0;
}

bool DeadlineSocket::is_idle() const {
  if (!fd_.valid() || ended_ || trouble_ != Trouble::none || begin_ != end_) return false;
  char byte = 0;
  const ssize_t count = ::recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

// False: the deadline has passed.
bool DeadlineSocket::wait_for(short events, MonotonicTime deadline) {
  while (true) {
    const auto left = deadline - clock_.monotonic();
    if (left <= left.zero()) return false;
    const timespec limit{static_cast<time_t>(left.count() / 1'000'000'000),
                         static_cast<long>(left.count() % 1'000'000'000)};
    pollfd poll{fd_.get(), events, 0};
    if (::ppoll(&poll, 1, &limit, nullptr) > 0) return true;
  }
}

bool DeadlineSocket::send_all(const char* bytes, std::size_t size) {
  while (size > 0) {
    if (trouble_ != Trouble::none) return false;
    if (clock_.monotonic() >= deadline_) {
      trouble_ = Trouble::timed_out;
      return false;
    }
    const ssize_t count = ::send(fd_.get(), bytes, size, MSG_NOSIGNAL);
    if (count > 0) {
      sent_ += static_cast<std::size_t>(count);
      bytes += count;
      size -= static_cast<std::size_t>(count);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(POLLOUT, deadline_)) trouble_ = Trouble::timed_out;
    } else if (errno != EINTR) {
      trouble_ = Trouble::send_failed;
    }
  }
  return trouble_ == Trouble::none;
}

bool DeadlineSocket::fill() {
  while (trouble_ == Trouble::none && !ended_) {
    if (received_ >= max_received_) {
      trouble_ = Trouble::too_long;
    } else if (!wait_for(POLLIN, deadline_)) {
      trouble_ = Trouble::timed_out;
    } else {
      const std::size_t room = std::min(buffer_.size(), max_received_ - received_);
      const ssize_t count = ::recv(fd_.get(), buffer_.data(), room, 0);
      if (count > 0) {
        begin_ = 0;
        end_ = static_cast<std::size_t>(count);
        received_ += end_;
        return true;
      }
      if (count == 0) ended_ = true;
      if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        trouble_ = Trouble::reset;
      }
    }
  }
  return false;
}

ssize_t DeadlineSocket::receive(char* bytes, std::size_t size) {
  if (trouble_ != Trouble::none) return -1;
  if (begin_ == end_ && !fill()) return trouble_ == Trouble::none ? 0 : -1;
  const std::size_t count = std::min(size, end_ - begin_);
  std::memcpy(bytes, buffer_.data() + begin_, count);
  begin_ += count;
  return static_cast<ssize_t>(count);
}

}  // namespace onceproof
