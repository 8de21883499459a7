#include "reference/gateway_server.h"

#include <fmt/format.h>

#include <array>
#include <condition_variable>
#include <mutex>

#include "base/text.h"
#include "net/listener.h"
#include "net/request_reader.h"

namespace onceproof {
namespace {

constexpr Milliseconds kRefusalPatience{2'000};

std::string_view reason_of(int status) {
  struct Reason {
    int status;
    std::string_view text;
  };
  constexpr std::array<Reason, 15> reasons{{{200, "OK"},
                                            {201, "Created"},
                                            {202, "Accepted"},
                                            {204, "No Content"},
                                            {304, "Not Modified"},
                                            {400, "Bad Request"},
                                            {402, "Payment Required"},
                                            {404, "Not Found"},
                                            {408, "Request Timeout"},
                                            {409, "Conflict"},
                                            {422, "Unprocessable Content"},
                                            {500, "Internal Server Error"},
                                            {502, "Bad Gateway"},
                                            {503, "Service Unavailable"},
                                            {504, "Gateway Timeout"}}};
  const auto* found = std::ranges::find(reasons, status, &Reason::status);
  return found == reasons.end() ? std::string_view() : found->text;  // a reason may be empty
}

bool has_no_body(int status, std::string_view method) {
  return method == "HEAD" || status == 204 || status == 304;
}

std::string write_response(const GatewayResponse& response, std::string_view method, bool keep) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_of(response.status));
  if (!response.content_type.empty()) {
    text += fmt::format("Content-Type: {}\r\n", response.content_type);
  }
  for (const auto& [name, value] : response.headers) {
    text += fmt::format("{}: {}\r\n", name, value);
  }
  if (!keep) text += "Connection: close\r\n";
  if (has_no_body(response.status, method)) return text + "\r\n";
  return text + fmt::format("Content-Length: {}\r\n\r\n", response.body.size()) + response.body;
}

}  // namespace

struct GatewayServer::State {
  State(Gateway& served, Clock& used) : gateway(served), clock(used) {}

  void serve(net::Connection& connection, const std::stop_token& stop);
  bool answer(net::Connection& connection, net::WholeRequest request);
  void finish();

  Gateway& gateway;
  Clock& clock;
  const net::ServerLimits limits;
  std::mutex mutex;
  std::condition_variable answered;
  std::size_t answering = 0;                // requests; under mutex
  bool stopping = false;                    // under mutex: no other request is begun
  std::unique_ptr<net::Listener> listener;  // last: its threads use the rest
};

void GatewayServer::State::serve(net::Connection& connection, const std::stop_token& stop) {
  net::RequestReader reader(connection, limits, clock);
  while (!stop.stop_requested()) {
    auto next = reader.next();
    if (auto* refused = std::get_if<net::RefusedRequest>(&next)) {
      const net::Refusal& refusal = refused->refusal;
      connection.socket().write(
          write_response(
              problem(refusal.status, refusal.code, "The request cannot be read", refusal.message),
              refused->head.method, false),
          clock.monotonic() + limits.write);
      return connection.socket().close_gently(kRefusalPatience);
    }
    auto* whole = std::get_if<net::WholeRequest>(&next);
    if (whole == nullptr || !answer(connection, std::move(*whole))) return;
  }
}

// True: the connection goes on.
bool GatewayServer::State::answer(net::Connection& connection, net::WholeRequest request) {
  {
    const std::scoped_lock lock(mutex);
    if (stopping) return false;
    ++answering;
  }
  const std::string method = request.head.method;
  const bool keep = request.head.keep_alive;
  const GatewayResponse response =
      gateway.handle({method, std::move(request.head.target), std::move(request.head.lines),
                      std::move(request.body)});
  const std::string text = write_response(response, method, keep);
  const auto sent = connection.socket().write(text, clock.monotonic() + limits.write);
  const std::scoped_lock lock(mutex);
  --answering;
  answered.notify_all();
  return keep && sent == text.size() && !stopping;
}

// Bounded: a request by its tool's call_timeout, an answer by limits.write.
void GatewayServer::State::finish() {
  std::unique_lock lock(mutex);
  stopping = true;
  answered.wait(lock, [&] { return answering == 0; });
}

GatewayServer::GatewayServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<GatewayServer>> GatewayServer::start(const GatewayServerOptions& options,
                                                            Gateway& gateway, Clock& clock) {
  auto state = std::make_unique<State>(gateway, clock);
  State* self = state.get();
  auto listener = net::Listener::start(
      {options.bind, options.port, state->limits.connections},
      [self](net::Connection& connection, const std::stop_token& stop) {
        self->serve(connection, stop);
      },
      clock);
  if (!listener) return tl::unexpected(listener.error());
  state->listener = std::move(*listener);
  return std::unique_ptr<GatewayServer>(new GatewayServer(std::move(state)));
}

GatewayServer::~GatewayServer() {
  state_->finish();
}

int GatewayServer::port() const {
  return state_->listener->port();
}

std::string GatewayServer::url() const {
  return state_->listener->url();
}

}  // namespace onceproof
