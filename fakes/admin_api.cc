#include "fakes/admin_api.h"

#include <fmt/format.h>

#include <charconv>

#include "base/digest.h"
#include "net/listener.h"

namespace onceproof::fakes {
namespace {

constexpr std::size_t kMaxPage = 1'000;

faults::HttpReply json_reply(int status, const Json& body) {
  return {.status = status, .body = to_line(body)};
}

faults::HttpReply error_for(const Error& error) {
  const int status = error.code == ErrorCode::already_exists ? 409 : 400;
  return faults::error_reply(status, error_row(error.code).name, error.message);
}

double since(MonotonicTime time, MonotonicTime start) {
  return std::chrono::duration<double, std::milli>(time - start).count();
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

Result<std::unique_ptr<AdminApi>> AdminApi::start(AdminOptions options, Host& host, Clock& clock) {
  if (!net::is_loopback(options.bind) && options.token.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the admin API on {} could be reached from other machines: set a token",
                            options.bind));
  }
  faults::ServerOptions listen;
  listen.bind = options.bind;
  listen.port = options.port;
  std::unique_ptr<AdminApi> api(new AdminApi(std::move(options), host, clock));
  AdminApi* self = api.get();
  auto server =
      faults::HttpServer::start(std::move(listen),
                                {.serve =
                                     [self](const faults::HttpRequest& request, std::stop_token) {
                                       faults::Decision decision;
                                       decision.reply = self->serve(request);
                                       return decision;
                                     },
                                 .refused = {}},
                                clock);
  if (!server) return tl::unexpected(server.error());
  api->server_ = std::move(*server);
  return api;
}

faults::HttpReply AdminApi::serve(const faults::HttpRequest& request) {
  if (!request.header("origin").empty()) {
    return faults::error_reply(403, "forbidden", "web pages may not use the admin API");
  }
  if (!options_.token.empty() && !is_token(request.header("authorization"), options_.token)) {
    return faults::error_reply(401, "unauthorized",
                               "send Authorization: Bearer and the token in ONCEPROOF_ADMIN_TOKEN");
  }
  const std::string route = request.method + " " + request.path;
  if (route == "GET /health") {
    return json_reply(200, {{"status", "ok"}, {"profile", host_.profile().name}});
  }
  if (route == "GET /ledger") return list_effects();
  if (route == "GET /wire-log") return list_wire(request);
  if (route == "GET /faults") return list_faults();
  if (route == "POST /faults") return arm_fault(request);
  if (route == "DELETE /faults") {
    host_.faults().heal();
    return json_reply(200, {{"status", "healed"}});
  }
  if (route == "POST /reset") {
    const auto done = host_.reset();
    return done ? json_reply(200, {{"status", "reset"}}) : error_for(done.error());
  }
  return faults::error_reply(404, "not_found",
                             "there is GET /health, GET /ledger, GET /wire-log, GET, POST and "
                             "DELETE /faults, POST /reset");
}

faults::HttpReply AdminApi::list_effects() {
  const auto effects = host_.effects();
  if (!effects) return error_for(effects.error());
  Json list = Json::array();
  for (const auto& effect : *effects) {
    list.push_back({{"id", effect.id},
                    {"service", effect.service},
                    {"business_ref", effect.business_ref},
                    {"key", effect.key},
                    {"reference", effect.reference},
                    {"params", effect.params},
                    {"request", effect.request},
                    {"committed_at", to_rfc3339(effect.committed_at_civil)}});
  }
  return json_reply(200, {{"effects", std::move(list)}});
}

faults::HttpReply AdminApi::list_wire(const faults::HttpRequest& request) {
  const auto after = number_of(request, "after", 0);
  const auto limit = number_of(request, "limit", kMaxPage);
  if (!after || !limit) {
    return faults::error_reply(400, "invalid_argument", "after and limit are whole numbers");
  }
  Json list = Json::array();
  for (const auto& entry :
       host_.wire_log().entries(*after, std::min<std::size_t>(*limit, kMaxPage))) {
    list.push_back(to_json(entry, start_));
  }
  return json_reply(200, {{"requests", std::move(list)}, {"total", host_.wire_log().size()}});
}

faults::HttpReply AdminApi::list_faults() {
  Json list = Json::array();
  for (const auto& record : host_.faults().records()) {
    Json firings = Json::array();
    for (const auto& firing : record.firings) {
      firings.push_back({{"request", firing.request}, {"at_ms", since(firing.at, start_)}});
    }
    list.push_back({{"fault", faults::to_json(record.fault)},
                    {"visits", record.visits},
                    {"firings", std::move(firings)},
                    {"released", record.released}});
  }
  return json_reply(200, {{"faults", std::move(list)}});
}

faults::HttpReply AdminApi::arm_fault(const faults::HttpRequest& request) {
  const auto body = parse_json(request.body, "body");
  if (!body) return error_for(body.error());
  auto fault = faults::fault_from_json(*body);
  if (!fault) return error_for(fault.error());
  const auto name = host_.faults().arm(std::move(*fault));
  if (!name) return error_for(name.error());
  return json_reply(201, {{"name", *name}});
}

}  // namespace onceproof::fakes
