#include "faults/stream.h"

#include <fmt/format.h>

#include <algorithm>

namespace onceproof::faults {
namespace {

constexpr Milliseconds kRefusalPatience{2'000};

// httplib takes one '?' a target; the others are data of the query and may be written %3F.
std::string target_for_httplib(const std::string& target) {
  std::string result;
  bool query = false;
  for (const char c : target) {
    if (c == '#') break;
    if (c == '?' && query) {
      result += "%3F";
    } else {
      query = query || c == '?';
      result += c;
    }
  }
  return result;
}

// Nothing but what httplib needs: the headers are ours already, and some of them are dangerous.
std::string head_for_httplib(const net::RequestHead& head) {
  return fmt::format("{} {} HTTP/1.1\r\n{}\r\n", head.method, target_for_httplib(head.target),
                     head.keep_alive ? "" : "Connection: close\r\n");
}

std::string refusal_text(const net::Refusal& refusal) {
  const HttpReply reply = error_reply(refusal.status, refusal.code, refusal.message);
  return fmt::format(
      "HTTP/1.1 {} {}\r\nConnection: close\r\nContent-Length: {}\r\n"
      "Content-Type: application/json\r\n\r\n{}",
      refusal.status, refusal.code, reply.body.size(), reply.body);
}

std::string chunk(std::string_view bytes) {
  return bytes.empty() ? std::string() : fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

// The head of a reply with its length left out and chunks announced.
std::string chunked_head(std::string_view head) {
  std::string result;
  while (!head.empty()) {
    const auto end = head.find("\r\n") + 2;
    const auto line = head.substr(0, end);
    if (line == "\r\n") result += "Transfer-Encoding: chunked\r\n";
    if (!line.starts_with("Content-Length:")) result += line;
    head.remove_prefix(end);
  }
  return result;
}

// What goes out instead of `reply`, byte for byte.
std::string broken_reply(const std::string& reply, const Writing& writing) {
  const auto head_bytes = std::min(reply.find("\r\n\r\n"), reply.size() - 4) + 4;
  const auto head = std::string_view(reply).substr(0, head_bytes);
  const auto body = std::string_view(reply).substr(head_bytes);
  switch (writing.form) {
    case Writing::Form::whole:
      break;
    case Writing::Form::raw:
      return writing.raw;
    case Writing::Form::cut:
      return reply.substr(0, writing.bytes);
    case Writing::Form::half_body:
      return reply.substr(0, head_bytes + body.size() / 2);
    case Writing::Form::bad_chunk:
      return chunked_head(head) + chunk(body.substr(0, body.size() / 2)) + "no size\r\n";
    case Writing::Form::no_last_chunk:
      return chunked_head(head) + chunk(body);
  }
  return reply;
}

}  // namespace

ssize_t Stream::read(char* bytes, size_t size) {
  const std::size_t n = std::min(size, input_.size() - read_);
  std::copy_n(input_.data() + read_, n, bytes);
  read_ += n;
  return static_cast<ssize_t>(n);
}

ssize_t Stream::write(const char* bytes, size_t size) {
  output_.append(bytes, size);
  return static_cast<ssize_t>(size);
}

// Nobody asks whose connection it is: HttpRequest has no addresses.
void Stream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}
void Stream::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

HttpConnection::HttpConnection(net::Connection& connection, const HttpHandlers& handlers,
                               const ServerLimits& limits, Clock& clock)
    : connection_(connection),
      handlers_(handlers),
      limits_(limits),
      clock_(clock),
      reader_(connection, limits, clock) {
  set_keep_alive_timeout(std::chrono::duration_cast<std::chrono::seconds>(limits.idle).count());
  set_keep_alive_max_count(1'000'000);
  set_pre_routing_handler([this](const httplib::Request& parsed, httplib::Response& response) {
    decide(parsed, response);
    return HandlerResponse::Handled;
  });
}

void HttpConnection::run(std::stop_token stop) {
  stop_ = std::move(stop);
  if (handlers_.accepted) {
    const Ending ending = handlers_.accepted(connection_.number(), stop_);
    if (ending != Ending::answer) {
      connection_.busy();  // a hang is not idle: nobody cuts it to make room
      return end(ending);
    }
  }
  for (bool keep = true; keep && !stop_.stop_requested();) {
    auto next = reader_.next();
    if (auto* refused = std::get_if<net::RefusedRequest>(&next)) {
      prepare(std::move(refused->head), {});
      return refuse(request_, refused->refusal);
    }
    if (!std::holds_alternative<net::WholeRequest>(next)) return;
    auto& whole = std::get<net::WholeRequest>(next);
    keep = whole.head.keep_alive;
    Stream stream(head_for_httplib(whole.head));
    prepare(std::move(whole.head), std::move(whole.body));
    bool closed = false;
    process_request(stream, !keep, closed, nullptr);
    if (!decision_) {  // httplib found a fault of its own in the head
      return refuse(request_, {400, "malformed_request", "the request line cannot be read"});
    }
    keep = perform(stream.output(), keep);
  }
}

void HttpConnection::prepare(net::RequestHead head, std::string body) {
  decision_.reset();
  request_ = {};
  request_.connection = connection_.number();
  request_.method = std::move(head.method);
  request_.target = std::move(head.target);
  request_.headers = std::move(head.headers);
  request_.body = std::move(body);
}

void HttpConnection::decide(const httplib::Request& parsed, httplib::Response& response) {
  request_.path = parsed.path;
  request_.query = parsed.params;
  try {
    decision_ = handlers_.serve(request_, stop_);
  } catch (const std::exception&) {  // what it was may hold secrets of ours: not for the client
    decision_ = Decision{};
    decision_->reply = error_reply(500, "internal_error", "the server could not serve this");
  }
  const HttpReply& reply = decision_->reply;
  response.status = reply.status;
  for (const auto& [name, value] : reply.headers) response.set_header(name, value);
  response.set_content(reply.body, reply.content_type);
}

void HttpConnection::refuse(const HttpRequest& partial, const net::Refusal& refusal) {
  if (handlers_.refused) handlers_.refused(partial, refusal.status);
  connection_.socket().write(refusal_text(refusal), clock_.monotonic() + limits_.write);
  connection_.socket().close_gently(kRefusalPatience);
}

// True: the connection goes on.
bool HttpConnection::perform(const std::string& reply, bool keep) {
  Ending ending = decision_->ending;
  if (ending == Ending::answer && decision_->writing.form != Writing::Form::whole) {
    break_off(reply);
    return false;
  }
  if (ending == Ending::answer) {
    const AfterReply after = send(reply);
    if (after.action) after.action();
    if (after.linger > Milliseconds{0}) clock_.wait_for(after.linger, stop_);
    ending = after.ending;
    if (ending == Ending::answer && keep) return true;
    if (ending == Ending::answer) ending = Ending::close;
    if (ending == Ending::reset) connection_.socket().await_acknowledged();
  }
  end(ending);
  return false;
}

// A reply that does not come whole, or is none.
void HttpConnection::break_off(const std::string& reply) {
  const Writing& writing = decision_->writing;
  const std::string bytes = broken_reply(reply, writing);
  const std::size_t sent = write(bytes);
  if (decision_->on_broken) decision_->on_broken(sent);
  if (writing.then == Ending::reset) connection_.socket().await_acknowledged();
  end(writing.then);
}

// All at once, or in pieces. How many the kernel took.
std::size_t HttpConnection::write(std::string_view bytes, bool more) {
  const Writing& writing = decision_->writing;
  const std::size_t piece = writing.piece == 0 ? bytes.size() : writing.piece;
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const auto next = bytes.substr(sent, piece);
    const auto deadline = clock_.monotonic() + limits_.write;
    const std::size_t taken = connection_.socket().write(next, deadline, more);
    sent += taken;
    if (taken < next.size()) break;
    if (writing.piece > 0 && !clock_.wait_for(writing.every, stop_)) break;
  }
  return sent;
}

// The first byte alone, if the decision says so. How many bytes are out; nullopt: the exchange is
// over, as `after` says.
std::optional<std::size_t> HttpConnection::send_first(const std::string& reply, AfterReply& after) {
  if (!decision_->before_first_byte) return 0;
  const auto first = decision_->before_first_byte();
  if (!first) return 0;
  const std::size_t sent = write(std::string_view(reply).substr(0, 1));
  if (first->action) first->action();
  const bool waited = first->delay == Milliseconds{0} || clock_.wait_for(first->delay, stop_);
  if (sent == 1 && waited && first->ending == Ending::answer) return sent;
  if (decision_->on_broken) decision_->on_broken(sent);
  after.ending = first->ending == Ending::answer ? Ending::close : first->ending;
  return std::nullopt;
}

// What is to follow the reply; close if it could not be written whole.
AfterReply HttpConnection::send(const std::string& reply) {
  AfterReply after;
  const auto out = send_first(reply, after);
  if (!out) return after;
  const auto most = std::string_view(reply).substr(*out, reply.size() - 1 - *out);
  const bool at_once = decision_->writing.piece == 0;
  std::size_t sent = *out + write(most, at_once);
  if (sent + 1 == reply.size()) {
    if (decision_->before_last_byte) after = decision_->before_last_byte();
    sent += write(std::string_view(reply).substr(reply.size() - 1));
  }
  if (sent == reply.size()) return after;
  if (decision_->on_broken) decision_->on_broken(sent);
  return {Ending::close, nullptr};
}

void HttpConnection::end(Ending ending) {
  if (ending == Ending::hang) {
    connection_.socket().await_peer_end(clock_.monotonic() + limits_.hang);
  }
  if (ending == Ending::reset) return connection_.socket().reset();
  connection_.socket().close();
}

}  // namespace onceproof::faults
