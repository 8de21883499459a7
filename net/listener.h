// A listening port with a thread for each connection, so that an idle or hanging connection never
// blocks another.
// Invariant: at most `connections` threads. At the limit the longest idle connection is cut to make
// room; if none is idle, the next client waits in the kernel's queue. From the destructor on no
// thread and no descriptor of it is left, whatever the connections were doing.
// Own rather than httplib's: its accept loop leaks descriptors into child processes, closes a
// descriptor that another thread may be using, and has a queue of 5 and 5 s of stopping.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "net/socket.h"

namespace onceproof::net {

// One accepted connection, owned by its thread.
class Connection {
 public:
  Connection(UniqueFd fd, std::uint64_t number, Clock& clock)
      : socket_(std::move(fd), clock), clock_(clock), number_(number) {
    idle();
  }
  std::uint64_t number() const { return number_; }  // from 1, in order of accept
  Socket& socket() { return socket_; }
  // Between two requests: may be cut to make room. A new connection is idle.
  void idle() { idle_since_ = clock_.monotonic(); }
  void busy() { idle_since_ = kBusy; }

 private:
  friend class Listener;
  static constexpr MonotonicTime kBusy = MonotonicTime::max();
  Socket socket_;
  Clock& clock_;
  const std::uint64_t number_;
  std::atomic<MonotonicTime> idle_since_{MonotonicTime{}};
};

struct ListenOptions {
  std::string bind = "127.0.0.1";  // an IPv4 or IPv6 address in digits, or "localhost"
  int port = 0;                    // 0: any free one
  std::size_t connections = 256;
};

class Listener {
 public:
  // Speaks with one client; when it returns, the connection is closed. `stop`: return soon; the
  // socket is being cut as well.
  using Serve = std::function<void(Connection& connection, std::stop_token stop)>;

  // Errors: port_busy, invalid_argument (no such address or port here), io_failed.
  static Result<std::unique_ptr<Listener>> start(const ListenOptions& options, Serve serve,
                                                 Clock& clock);
  ~Listener();  // cuts every connection, joins every thread

  int port() const { return port_; }
  std::string url() const;  // "http://127.0.0.1:4711"
  // Connections whose thread runs at this moment. Thread-safe.
  std::size_t connections();

 private:
  struct Slot {
    Slot(UniqueFd fd, std::uint64_t number, Clock& clock)
        : connection(std::move(fd), number, clock) {}
    Connection connection;
    bool ended = false;
    std::jthread thread;  // last: joined before the rest goes
  };

  Listener(Serve serve, std::size_t limit, Clock& clock)
      : serve_(std::move(serve)), limit_(limit), clock_(clock) {}
  Result<void> open(const ListenOptions& options);
  void accept_loop(const std::stop_token& stop);
  void start_connection(UniqueFd fd);
  bool make_room(const std::stop_token& stop);
  void cut_longest_idle();
  void join_ended();
  void run(Slot& slot, const std::stop_token& stop);

  const Serve serve_;
  const std::size_t limit_;
  Clock& clock_;
  std::string host_;  // as in a URL
  int port_ = 0;
  UniqueFd listening_;
  UniqueFd wake_;  // an eventfd, readable once we stop
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::list<Slot> slots_;   // under mutex_
  std::size_t active_ = 0;  // slots that have not ended; under mutex_
  std::uint64_t accepted_ = 0;
  std::jthread accepting_;
};

// 127.0.0.0/8, ::1 or "localhost".
bool is_loopback(std::string_view bind);

}  // namespace onceproof::net
