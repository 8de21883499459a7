#include "reference/scripted_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/check.h"

namespace onceproof {
namespace {

std::size_t content_length(std::string_view head) {
  constexpr std::string_view kName = "Content-Length: ";
  const auto at = head.find(kName);
  if (at == head.npos) return 0;
  return std::strtoul(std::string(head.substr(at + kName.size(), 12)).c_str(), nullptr, 10);
}

}  // namespace

ScriptedServer::Peer::Peer(ScriptedServer& server, int fd, int number) : server_(server), fd_(fd) {
  request_.connection = number;
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool ScriptedServer::Peer::wait(short events, int timeout_ms) {
  pollfd polls[] = {{fd_.get(), events, 0}, {server_.stop_read_.get(), POLLIN, 0}};
  return ::poll(polls, 2, timeout_ms) > 0 && polls[1].revents == 0;
}

bool ScriptedServer::Peer::read_request() {
  while (true) {
    const auto end = pending_.find("\r\n\r\n");
    if (end != pending_.npos) {
      const std::size_t head = end + 4;
      const std::size_t body = content_length(std::string_view(pending_).substr(0, head));
      if (pending_.size() >= head + body) {
        request_.head = pending_.substr(0, head);
        request_.body = pending_.substr(head, body);
        pending_.erase(0, head + body);
        server_.seen_.lock()->push_back(request_);
        return true;
      }
    }
    if (!wait(POLLIN, -1)) return false;
    char bytes[4096];
    const ssize_t count = ::recv(fd_.get(), bytes, sizeof bytes, 0);
    if (count <= 0) return false;
    pending_.append(bytes, static_cast<std::size_t>(count));
  }
}

void ScriptedServer::Peer::send(std::string_view bytes) {
  while (!bytes.empty() && wait(POLLOUT, -1)) {
    const ssize_t count =
        ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void ScriptedServer::Peer::drip(std::string_view bytes, Milliseconds pause) {
  for (const char byte : bytes) {
    send(std::string_view(&byte, 1));
    if (wait(POLLRDHUP, static_cast<int>(pause.count()))) return;
    if (pollfd stop{server_.stop_read_.get(), POLLIN, 0}; ::poll(&stop, 1, 0) > 0) return;
  }
}

void ScriptedServer::Peer::hang() {
  wait(POLLRDHUP, -1);
}

void ScriptedServer::Peer::reset() {
  const linger hard{1, 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
}

ScriptedServer::ScriptedServer(Script script) : script_(std::move(script)), closed_(0) {
  int ends[2];
  CHECK(::pipe2(ends, O_CLOEXEC) == 0);
  stop_read_ = UniqueFd(ends[0]);
  stop_write_ = UniqueFd(ends[1]);
  listener_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* name = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  CHECK(::bind(listener_.get(), name, length) == 0);
  CHECK(::listen(listener_.get(), 64) == 0);
  CHECK(::getsockname(listener_.get(), name, &length) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::jthread([this] { accept_all(); });
}

ScriptedServer::~ScriptedServer() {
  stop_write_.reset();  // every poll sees the end of the pipe
  acceptor_.join();
  connections_.clear();
}

void ScriptedServer::accept_all() {
  for (int number = 1;; ++number) {
    pollfd polls[] = {{listener_.get(), POLLIN, 0}, {stop_read_.get(), POLLIN, 0}};
    if (::poll(polls, 2, -1) <= 0 || polls[1].revents != 0) return;
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    CHECK(fd >= 0);
    connections_.emplace_back([this, fd, number] {
      {
        Peer peer(*this, fd, number);
        script_(peer);
      }
      ++*closed_.lock();
    });
  }
}

std::string ScriptedServer::url() const {
  return fmt::format("http://127.0.0.1:{}", port_);
}

bool ScriptedServer::wait_until_closed(int count, Clock& clock) const {
  const auto limit = clock.monotonic() + std::chrono::seconds{20};
  while (*closed_.lock() < count && clock.monotonic() < limit) clock.wait_for(Milliseconds{1});
  return *closed_.lock() >= count;
}

std::string http_answer(int status, std::string_view body, std::string_view more_headers) {
  return fmt::format(
      "HTTP/1.1 {} Some Reason\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}\r\n{}",
      status, body.size(), more_headers, body);
}

}  // namespace onceproof
