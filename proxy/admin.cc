#include "proxy/admin.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/digest.h"
#include "net/listener.h"

namespace onceproof::proxy {
namespace {

constexpr std::size_t kMaxPage = 1'000;

faults::HttpReply json_reply(int status, const Json& body) {
  return {.status = status, .body = to_line(body)};
}

faults::HttpReply error_for(const Error& error) {
  const int status = error.code == ErrorCode::already_exists ? 409 : 400;
  return faults::error_reply(status, error_row(error.code).name, error.message);
}

// Compared by digest: how long it takes says nothing of the token.
bool is_token(std::string_view given, const std::string& token) {
  constexpr std::string_view kScheme = "Bearer ";
  return given.starts_with(kScheme) &&
         sha256_hex(given.substr(kScheme.size())) == sha256_hex(token);
}

std::optional<std::uint64_t> number_of(const faults::HttpRequest& request, const char* name,
                                       std::uint64_t otherwise) {
  const auto query = request.query.find(name);
  if (query == request.query.end()) return otherwise;
  const std::string& text = query->second;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Json entry_json(const fakes::WireEntry& entry, MonotonicTime start) {
  Json json = fakes::to_json(entry, start);
  json["upstream_status"] = entry.upstream_status;
  json["note"] = entry.note;
  if (entry.upstream_status != 0) json["disposition"] = "answered";
  return json;
}

Result<std::unique_ptr<ProxyAdmin>> ProxyAdmin::start(ProxyAdminOptions options, Proxy& proxy,
                                                      Clock& clock) {
  if (!net::is_loopback(options.bind) && options.token.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the admin API on {} could be reached from other machines: set a token",
                            options.bind));
  }
  faults::ServerOptions listen;
  listen.bind = options.bind;
  listen.port = options.port;
  std::unique_ptr<ProxyAdmin> admin(new ProxyAdmin(std::move(options), proxy, clock));
  ProxyAdmin* self = admin.get();
  const auto serve = [self](const faults::HttpRequest& request, const std::stop_token&) {
    faults::Decision decision;
    decision.reply = self->serve(request);
    return decision;
  };
  auto server =
      faults::HttpServer::start(std::move(listen), {.serve = serve, .refused = {}}, clock);
  if (!server) return tl::unexpected(server.error());
  admin->server_ = std::move(*server);
  return admin;
}

faults::HttpReply ProxyAdmin::serve(const faults::HttpRequest& request) {
  if (!request.header("origin").empty()) {
    return faults::error_reply(403, "forbidden", "web pages may not use the admin API");
  }
  if (!options_.token.empty() && !is_token(request.header("authorization"), options_.token)) {
    return faults::error_reply(401, "unauthorized",
                               "send Authorization: Bearer and the token in ONCEPROOF_ADMIN_TOKEN");
  }
  const std::string route = request.method + " " + request.path;
  if (route == "GET /health") {
    return json_reply(200, {{"status", "ok"}, {"upstream", proxy_.upstream().authority}});
  }
  if (route == "GET /wire-log") return list_wire(request);
  if (route == "GET /faults") return list_faults();
  if (route == "POST /faults") return arm_fault(request);
  if (route == "DELETE /faults") {
    proxy_.faults().heal();
    return json_reply(200, {{"status", "healed"}});
  }
  return faults::error_reply(404, "not_found",
                             "there is GET /health, GET /wire-log, GET, POST and DELETE /faults");
}

faults::HttpReply ProxyAdmin::list_wire(const faults::HttpRequest& request) {
  const auto after = number_of(request, "after", 0);
  const auto limit = number_of(request, "limit", kMaxPage);
  if (!after || !limit) {
    return faults::error_reply(400, "invalid_argument", "after and limit are whole numbers");
  }
  Json list = Json::array();
  for (const auto& entry :
       proxy_.wire_log().entries(*after, std::min<std::size_t>(*limit, kMaxPage))) {
    list.push_back(entry_json(entry, start_));
  }
  return json_reply(200, {{"requests", std::move(list)}, {"total", proxy_.wire_log().size()}});
}

faults::HttpReply ProxyAdmin::list_faults() {
  const auto since = [&](MonotonicTime time) {
    return std::chrono::duration<double, std::milli>(time - start_).count();
  };
  Json list = Json::array();
  for (const auto& record : proxy_.faults().records()) {
    Json firings = Json::array();
    for (const auto& firing : record.firings) {
      firings.push_back({{"request", firing.request}, {"at_ms", since(firing.at)}});
    }
    list.push_back({{"fault", faults::to_json(record.fault)},
                    {"visits", record.visits},
                    {"firings", std::move(firings)},
                    {"released", record.released}});
  }
  return json_reply(200, {{"faults", std::move(list)}});
}

faults::HttpReply ProxyAdmin::arm_fault(const faults::HttpRequest& request) {
  const auto body = parse_json(request.body, "body");
  if (!body) return error_for(body.error());
  auto fault = faults::fault_from_json(*body);
  if (!fault) return error_for(fault.error());
  const auto name = proxy_.arm(std::move(*fault));
  if (!name) return error_for(name.error());
  return json_reply(201, {{"name", *name}});
}

}  // namespace onceproof::proxy
