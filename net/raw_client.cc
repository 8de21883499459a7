#include "net/raw_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>

namespace onceproof::net {
namespace {

constexpr int kPatienceMs = 5'000;

bool readable(int fd, int patience_ms) {
  pollfd entry{fd, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&entry, 1, patience_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

}  // namespace

RawClient::RawClient(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int yes = 1;
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fd_.reset();
  }
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

RawClient::Heard RawClient::hear_all(Milliseconds patience) {
  Heard heard{std::move(ahead_), End::silence};
  ahead_.clear();
  char bytes[16 << 10];
  while (readable(fd_.get(), static_cast<int>(patience.count()))) {
    const ssize_t n = ::recv(fd_.get(), bytes, sizeof bytes, 0);
    if (n > 0) {
      heard.bytes.append(bytes, static_cast<std::size_t>(n));
      continue;
    }
    heard.end = n == 0 ? End::fin : End::reset;
    break;
  }
  return heard;
}

std::optional<std::string> RawClient::hear_reply() {
  std::string reply = std::move(ahead_);
  ahead_.clear();
  char bytes[16 << 10];
  for (;;) {
    const auto head = reply.find("\r\n\r\n");
    const auto field = reply.find("Content-Length: ");
    if (head != std::string::npos && field < head) {
      const std::size_t length = std::strtoul(reply.c_str() + field + 16, nullptr, 10);
      if (reply.size() >= head + 4 + length) {
        ahead_ = reply.substr(head + 4 + length);
        reply.resize(head + 4 + length);
        return reply;
      }
    }
    if (!readable(fd_.get(), kPatienceMs)) return std::nullopt;
    const ssize_t n = ::recv(fd_.get(), bytes, sizeof bytes, 0);
    if (n <= 0) return std::nullopt;
    reply.append(bytes, static_cast<std::size_t>(n));
  }
}

std::string RawClient::hear_at_most(std::size_t bytes) {
  std::string heard(bytes, '\0');
  if (!readable(fd_.get(), kPatienceMs)) return {};
  const ssize_t n = ::recv(fd_.get(), heard.data(), bytes, 0);
  heard.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return heard;
}

void RawClient::half_close() {
  ::shutdown(fd_.get(), SHUT_WR);
}

void RawClient::reset() {
  const linger now{1, 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  fd_.reset();
}

std::string post(std::string_view target, std::string_view body, std::string_view headers) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n{}\r\n{}",
                     target, body.size(), headers, body);
}

std::string get(std::string_view target, std::string_view headers) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", target, headers);
}

int status_of(std::string_view reply) {
  const std::string head(reply.substr(0, 12));
  return head.starts_with("HTTP/1.1 ") ? std::atoi(head.c_str() + 9) : 0;
}

std::string body_of(std::string_view reply) {
  const auto head = reply.find("\r\n\r\n");
  return head == std::string_view::npos ? std::string{} : std::string(reply.substr(head + 4));
}

}  // namespace onceproof::net
