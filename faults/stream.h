// Where faults touch the wire: cpp-httplib's own server code over a Stream of ours, so that a reply
// can be withheld, cut or replaced to the byte.
// Invariant: httplib never sees the socket. It is fed a head that was received whole and checked
// (request_reader.h), and what it writes is held back until it is decided what becomes of it.
// This keeps its dangers out: lines and bodies without bound, decompression without bound, a
// regular expression over a client's header, percent-decoded header values, select() beyond 1,024.
// One connection, one thread. Knows nothing of services or of which request a fault is for.
#pragma once

#include <httplib.h>

#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "faults/http.h"
#include "net/listener.h"
#include "net/request_reader.h"

namespace onceproof::faults {

// What httplib reads and writes for one request: memory.
class Stream final : public httplib::Stream {
 public:
  explicit Stream(std::string input) : input_(std::move(input)) {}

  bool is_readable() const override { return read_ < input_.size(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* bytes, size_t size) override;
  ssize_t write(const char* bytes, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return 0; }  // asked only whether it fits select()

  const std::string& output() const { return output_; }

 private:
  std::string input_;
  std::size_t read_ = 0;
  std::string output_;
};

// Serves one connection until it ends, by its client, by a Decision or by a limit.
class HttpConnection final : private httplib::Server {
 public:
  HttpConnection(net::Connection& connection, const HttpHandlers& handlers,
                 const ServerLimits& limits, Clock& clock);
  void run(std::stop_token stop);

 private:
  void prepare(net::RequestHead head, std::string body);
  void decide(const httplib::Request& parsed, httplib::Response& response);
  void refuse(const HttpRequest& partial, const net::Refusal& refusal);
  bool perform(const std::string& reply, bool keep);
  AfterReply send(const std::string& reply);
  std::optional<std::size_t> send_first(const std::string& reply, AfterReply& after);
  void break_off(const std::string& reply);
  std::size_t write(std::string_view bytes, bool more = false);
  void end(Ending ending);

  net::Connection& connection_;
  const HttpHandlers& handlers_;
  const ServerLimits& limits_;
  Clock& clock_;
  net::RequestReader reader_;
  std::stop_token stop_;
  HttpRequest request_;
  std::optional<Decision> decision_;  // for request_
};

}  // namespace onceproof::faults
