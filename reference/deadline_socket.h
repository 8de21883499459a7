// A TCP connection on which nothing takes longer than one given instant: connect, send and receive
// end when it is reached. Invariant: after the first failure every further call fails, and
// `trouble()` says what it was. One thread at a time. Source: connect(2), poll(2), tcp(7).
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <vector>

#include "base/clock.h"
#include "base/file.h"

namespace onceproof {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

class DeadlineSocket {
 public:
  enum class Trouble {
    none,
    timed_out,    // the deadline
    send_failed,  // the peer is gone, seen while sending
    reset,        // the same, seen while receiving
    too_long,     // more was received than allowed
  };

  explicit DeadlineSocket(const Clock& clock) : clock_(clock) {}
  DeadlineSocket(const DeadlineSocket&) = delete;
  DeadlineSocket& operator=(const DeadlineSocket&) = delete;

  // Tries the addresses in turn until one accepts. TCP_NODELAY. False: none did in time.
  bool connect(const std::vector<SocketAddress>& addresses, MonotonicTime deadline);
  // Begins another exchange on this connection: counts from 0, at most `max_received` bytes may
  // come.
  void begin(MonotonicTime deadline, std::size_t max_received);
  // True: open, and nothing has come that was not asked for, neither bytes nor the end.
  bool is_idle() const;

  bool send_all(const char* bytes, std::size_t size);
  // Number of bytes, 0: the peer has ended its side, -1: trouble.
  ssize_t receive(char* bytes, std::size_t size);

  int fd() const { return fd_.get(); }
  Trouble trouble() const { return trouble_; }
  std::size_t sent() const { return sent_; }
  std::size_t received() const { return received_; }
  bool ended() const { return ended_; }

 private:
  bool connect_one(const SocketAddress& address, MonotonicTime deadline);
  bool wait_for(short events, MonotonicTime deadline);
  bool fill();

  const Clock& clock_;
  UniqueFd fd_;
  MonotonicTime deadline_{};
  std::size_t max_received_ = 0;
  std::size_t sent_ = 0;
  std::size_t received_ = 0;
  Trouble trouble_ = Trouble::none;
  bool ended_ = false;
  std::array<char, 8192> buffer_;
  std::size_t begin_ = 0;  // of what is buffered and not yet taken
  std::size_t end_ = 0;
};

}  // namespace onceproof
