// For tests: an upstream made of sockets alone. It sees every byte that the proxy sends it and
// answers with the bytes that the test says.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "net/listener.h"
#include "net/raw_client.h"
#include "proxy/proxy.h"

namespace onceproof::proxy {

class ScriptedUpstream {
 public:
  // One connection in the hands of the script; it is closed when the script returns.
  class Peer {
   public:
    Peer(net::Connection& connection, std::stop_token token, ScriptedUpstream& owner)
        : stop(std::move(token)), connection_(connection), owner_(owner) {}
    // All up to and with `end`; empty: the proxy has closed.
    std::string read_until(std::string_view end) {
      std::size_t at = 0;
      while ((at = arrived_.find(end)) == std::string::npos) {
        if (!read_more()) return {};
      }
      return take(at + end.size());
    }
    // A head and what follows it up to `end`, or so many bytes.
    std::string read_request(std::string_view end) {
      const std::string head = read_until("\r\n\r\n");
      return head + read_until(end);
    }
    std::string read_request(std::size_t bytes) {
      const std::string head = read_until("\r\n\r\n");
      return head + read_exactly(bytes);
    }
    std::string read_exactly(std::size_t bytes) {
      while (arrived_.size() < bytes) {
        if (!read_more()) return {};
      }
      return take(bytes);
    }
    // Counts and drops what comes until the proxy closes.
    std::size_t read_to_end() {
      std::size_t total = arrived_.size();
      for (arrived_.clear(); read_more(); arrived_.clear()) total += arrived_.size();
      return total;
    }
    void send(std::string_view bytes) {
      connection_.socket().write(bytes, clock_.monotonic() + Milliseconds{10'000});
    }
    void reset() { connection_.socket().reset(); }
    void await_acknowledged() { connection_.socket().await_acknowledged(); }
    void close() { connection_.socket().close(); }
    std::uint64_t number() const { return connection_.number(); }
    void saw(const std::string& request) { owner_.add(request); }
    std::stop_token stop;

   private:
    bool read_more() {
      return connection_.socket().read_some(arrived_, clock_.monotonic() + Milliseconds{10'000}) ==
             net::Socket::Arrival::bytes;
    }
    std::string take(std::size_t bytes) {
      std::string taken = arrived_.substr(0, bytes);
      arrived_.erase(0, bytes);
      return taken;
    }
    net::Connection& connection_;
    ScriptedUpstream& owner_;
    RealClock clock_;
    std::string arrived_;
  };
  using Script = std::function<void(Peer&)>;

  explicit ScriptedUpstream(Script script) : script_(std::move(script)) {
    listener_ = net::Listener::start(
                    {},
                    [this](net::Connection& connection, std::stop_token stop) {
                      connection.busy();
                      Peer peer(connection, std::move(stop), *this);
                      script_(peer);
                    },
                    clock_)
                    .value();
  }
  std::string url() const { return listener_->url(); }
  int port() const { return listener_->port(); }
  // What the scripts said they saw, in order; waits for the nth at most 10 s.
  std::vector<std::string> seen(std::size_t at_least = 0) {
    std::unique_lock lock(mutex_);
    more_.wait_for(lock, Milliseconds{10'000}, [&] { return seen_.size() >= at_least; });
    return seen_;
  }

 private:
  void add(const std::string& request) {
    const std::scoped_lock lock(mutex_);
    seen_.push_back(request);
    more_.notify_all();
  }
  RealClock clock_;
  const Script script_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<std::string> seen_;
  std::unique_ptr<net::Listener> listener_;  // last: its threads use the rest
};

inline std::string ok(std::string_view body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

// A proxy before a scripted upstream, and a socket to it.
class ProxyTest : public ::testing::Test {
 protected:
  void start(ScriptedUpstream::Script script, ProxyOptions options = {}) {
    upstream_ = std::make_unique<ScriptedUpstream>(std::move(script));
    options.upstream = upstream_->url();
    start_before(std::move(options));
  }
  void start_before(ProxyOptions options) {
    auto started = Proxy::start(std::move(options), clock_);
    ASSERT_TRUE(started.has_value()) << started.error().message;
    proxy_ = std::move(*started);
  }
  // Answers every request without a body with its number.
  static void answer_all(ScriptedUpstream::Peer& peer) {
    for (int i = 1;; ++i) {
      const auto head = peer.read_until("\r\n\r\n");
      if (head.empty()) return;
      peer.saw(head);
      peer.send(ok("answer " + std::to_string(i)));
    }
  }
  // The same for POSTs whose body has `bytes` bytes.
  static ScriptedUpstream::Script answer_posts(std::size_t bytes) {
    return [bytes](ScriptedUpstream::Peer& peer) {
      for (int i = 1;; ++i) {
        const auto request = peer.read_request(bytes);
        if (request.empty()) return;
        peer.saw(request);
        peer.send(ok("answer " + std::to_string(i)));
      }
    };
  }
  void arm(const char* json) {
    auto fault = faults::fault_from_json(Json::parse(json));
    ASSERT_TRUE(fault.has_value()) << fault.error().message;
    const auto armed = proxy_->arm(std::move(*fault));
    ASSERT_TRUE(armed.has_value()) << armed.error().message;
  }
  fakes::WireEntry logged(std::uint64_t number) {
    const auto entries = proxy_->wire_log().entries(number - 1, 1);
    return entries.empty() ? fakes::WireEntry{} : entries.front();
  }

  RealClock clock_;
  std::unique_ptr<ScriptedUpstream> upstream_;
  std::unique_ptr<Proxy> proxy_;
};

}  // namespace onceproof::proxy
