#include "reference/gateway_server.h"

#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>

#include <array>
#include <thread>

#include "base/text.h"

namespace onceproof {
namespace {

constexpr std::size_t kMaxBody = 1 << 20;
constexpr int kSecondsPerRead = 10;

// httplib notes the connection's ends among the headers.
bool is_note(std::string_view header) {
  constexpr std::array<std::string_view, 4> notes{"REMOTE_ADDR", "REMOTE_PORT", "LOCAL_ADDR",
                                                  "LOCAL_PORT"};
  return std::find(notes.begin(), notes.end(), header) != notes.end();
}

// httplib takes such bodies apart, and what is passed on must be what came.
bool is_taken_apart(const httplib::Request& request) {
  return request.is_multipart_form_data() || request.has_header("Content-Encoding");
}

void serve(Gateway& gateway, const httplib::Request& request, httplib::Response& response) {
  if (is_taken_apart(request)) {
    response.status = 415;
    response.set_content(R"({"status":415,"title":"multipart and encoded bodies are not taken"})",
                         "application/problem+json");
    return;
  }
  GatewayRequest asked{request.method, request.target, {}, request.body};
  for (const auto& [name, value] : request.headers) {
    if (!is_note(name)) asked.headers.emplace_back(name, value);
  }
  const GatewayResponse answer = gateway.handle(asked);
  response.status = answer.status;
  for (const auto& [name, value] : answer.headers) response.set_header(name, value);
  response.set_content(answer.body, answer.content_type);
}

}  // namespace

struct GatewayServer::State {
  httplib::Server server;
  std::string bind;
  int port = 0;
  std::jthread thread;
};

GatewayServer::GatewayServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<GatewayServer>> GatewayServer::start(const GatewayServerOptions& options,
                                                            Gateway& gateway) {
  auto state = std::make_unique<State>();
  httplib::Server& server = state->server;
  // Without httplib's SO_REUSEPORT, under which two gateways would share a port unnoticed.
  server.set_socket_options([](int socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.new_task_queue = [threads = options.threads] { return new httplib::ThreadPool(threads); };
  server.set_payload_max_length(kMaxBody);
  server.set_read_timeout(kSecondsPerRead);
  server.set_write_timeout(kSecondsPerRead);
  server.set_tcp_nodelay(true);
  const auto handler = [&gateway](const httplib::Request& request, httplib::Response& response) {
    serve(gateway, request, response);
  };
  server.Get(".*", handler);
  server.Post(".*", handler);
  server.Put(".*", handler);
  server.Patch(".*", handler);
  server.Delete(".*", handler);
  state->bind = options.bind;
  state->port = options.port;
  if (options.port == 0) {
    state->port = server.bind_to_any_port(options.bind);
  } else if (!server.bind_to_port(options.bind, options.port)) {
    state->port = -1;
  }
  if (state->port < 0) {
    return fail(ErrorCode::port_busy,
                fmt::format("cannot listen on {} port {}: it is busy, or no address of this "
                            "machine; --port 0 takes any free one",
                            escape_terminal(shorten(options.bind, 80)), options.port));
  }
  state->thread = std::jthread([&server] { server.listen_after_bind(); });
  // stop() does nothing before this; the connections that come meanwhile are in the backlog.
  while (!server.is_running()) std::this_thread::yield();
  return std::unique_ptr<GatewayServer>(new GatewayServer(std::move(state)));
}

GatewayServer::~GatewayServer() {
  state_->server.stop();
}

std::string GatewayServer::url() const {
  return fmt::format("http://{}:{}", state_->bind, state_->port);
}

}  // namespace onceproof
