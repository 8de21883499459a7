// For tests: a TCP server on loopback that does to its clients, byte by byte, what the test says.
// Invariant: it ends with its object; every wait inside it ends then, too. Knows of HTTP only where
// a request ends.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/guarded.h"

namespace onceproof {

class ScriptedServer {
 public:
  struct Request {
    int connection = 0;  // from 1
    std::string head;    // with its empty line
    std::string body;
  };

  // One connection, in the hands of the script. When the script returns, the connection is closed.
  class Peer {
   public:
    // False: the client has gone, or the server ends.
    bool read_request();
    void send(std::string_view bytes);
    // One byte every `pause`, until the client has gone or the server ends.
    void drip(std::string_view bytes, Milliseconds pause);
    // Until the client has gone or the server ends; reads nothing.
    void hang();
    // The close will be a RST.
    void reset();
    const Request& request() const { return request_; }  // the last one
    int number() const { return request_.connection; }

   private:
    friend class ScriptedServer;
    Peer(ScriptedServer& server, int fd, int number);
    bool wait(short events, int timeout_ms);  // true: one of the events; false: time, or the end

    ScriptedServer& server_;
    UniqueFd fd_;
    std::string pending_;
    Request request_;
  };
  using Script = std::function<void(Peer&)>;

  explicit ScriptedServer(Script script);
  ~ScriptedServer();

  std::string url() const;  // "http://127.0.0.1:4711"
  std::vector<Request> requests() const { return *seen_.lock(); }
  // Waits, for some seconds at most, until `count` connections were closed from this side.
  bool wait_until_closed(int count, Clock& clock) const;

 private:
  void accept_all();

  Script script_;
  UniqueFd listener_;
  UniqueFd stop_read_;
  UniqueFd stop_write_;
  int port_ = 0;
  mutable Guarded<std::vector<Request>> seen_;
  mutable Guarded<int> closed_;
  std::list<std::jthread> connections_;  // the accepting thread's own
  std::jthread acceptor_;
};

// A function that the test's thread replaces while the server's threads call it.
template <typename Function>
class Replaceable {
 public:
  explicit Replaceable(Function function) : function_(std::move(function)) {}
  Replaceable& operator=(Function function) {
    *function_.lock() = std::move(function);
    return *this;
  }
  template <typename... Args>
  auto operator()(Args&&... args) {
    const Function function = *function_.lock();
    return function(std::forward<Args>(args)...);
  }

 private:
  Guarded<Function> function_;
};

// "HTTP/1.1 201 Created" with this body as application/json.
std::string http_answer(int status, std::string_view body, std::string_view more_headers = "");

}  // namespace onceproof
