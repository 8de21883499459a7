#include "fakes/admin_api.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/digest.h"
#include "base/text.h"
#include "fakes/metrics.h"
#include "fakes/profile.h"
#include "net/listener.h"

namespace onceproof::fakes {
namespace {

constexpr std::size_t kMaxPage = 1'000;
constexpr std::string_view kName = "{name}";
constexpr std::string_view kFaultsPath = "/faults/";

faults::HttpReply json_reply(int status, const Json& body) {
  return {.status = status, .body = to_line(body)};
}

faults::HttpReply error_for(const Error& error) {
  const int status = error.code == ErrorCode::already_exists   ? 409
                     : error.code == ErrorCode::limit_exceeded ? 409
                     : error.code == ErrorCode::not_found      ? 404
                                                               : 400;
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

// A query that says something this route does not know, or says it twice, is told.
std::optional<faults::HttpReply> check_query(const faults::HttpRequest& request,
                                             const std::vector<std::string_view>& known) {
  for (const auto& [name, value] : request.query) {
    if (std::ranges::find(known, name) == known.end()) {
      return faults::error_reply(
          400, "invalid_argument",
          fmt::format("there is no query parameter '{}' here; there is {}", escape_terminal(name),
                      known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
    }
    if (request.query.count(name) > 1) {
      return faults::error_reply(
          400, "invalid_argument",
          fmt::format("the query parameter '{}' is given twice", escape_terminal(name)));
    }
  }
  return std::nullopt;
}

Json profile_json(const Profile& profile) {
  return {{"name", profile.name},
          {"summary", profile.summary},
          {"guarantees", guarantees_json(profile)}};
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
  return dispatch(request);
}

struct AdminApi::Route {
  std::string_view method;
  std::string_view path;  // "{name}" at its end: any text that is not empty
  std::vector<std::string_view> query;
  faults::HttpReply (AdminApi::*serve)(const faults::HttpRequest&);

  bool fits(std::string_view given) const {
    if (!path.ends_with(kName)) return given == path;
    const auto stem = path.substr(0, path.size() - kName.size());
    return given.starts_with(stem) && given.size() > stem.size();
  }
};

const std::vector<AdminApi::Route>& AdminApi::table() {
  static const std::vector<Route> routes{
      {"GET", "/health", {}, &AdminApi::show_health},
      {"GET", "/metrics", {}, &AdminApi::show_metrics},
      {"GET", "/clock", {}, &AdminApi::show_clock},
      {"GET", "/profiles", {}, &AdminApi::list_profiles},
      {"GET", "/profile", {}, &AdminApi::show_profile},
      {"GET", "/ledger", {}, &AdminApi::list_effects},
      {"GET",
       "/wire-log",
       {"after", "limit", "service", "route", "business_ref", "key", "worker", "status",
        "disposition"},
       &AdminApi::list_wire},
      {"GET", "/faults", {}, &AdminApi::list_faults},
      {"POST", "/faults", {}, &AdminApi::arm_faults},
      {"DELETE", "/faults", {}, &AdminApi::heal_faults},
      {"DELETE", "/faults/{name}", {}, &AdminApi::remove_fault},
      {"POST", "/reset", {}, &AdminApi::reset},
  };
  return routes;
}

std::vector<std::string> AdminApi::routes() {
  std::vector<std::string> texts;
  for (const auto& route : table()) texts.push_back(fmt::format("{} {}", route.method, route.path));
  return texts;
}

faults::HttpReply AdminApi::dispatch(const faults::HttpRequest& request) {
  std::string allowed;
  for (const auto& route : table()) {
    if (!route.fits(request.path)) continue;
    if (route.method != request.method) {
      allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", route.method);
      continue;
    }
    if (auto wrong = check_query(request, route.query)) return std::move(*wrong);
    return (this->*route.serve)(request);
  }
  if (allowed.empty()) {
    return faults::error_reply(404, "not_found",
                               fmt::format("there is {}", fmt::join(routes(), ", ")));
  }
  auto reply =
      faults::error_reply(405, "method_not_allowed", fmt::format("this path takes {}", allowed));
  reply.headers.emplace_back("Allow", allowed);
  return reply;
}

faults::HttpReply AdminApi::show_health(const faults::HttpRequest&) {
  return json_reply(200, {{"status", "ok"},
                          {"profile", host_.profile().name},
                          {"uptime_ms", since(clock_.monotonic(), start_)},
                          {"version", ONCEPROOF_VERSION}});
}

faults::HttpReply AdminApi::show_metrics(const faults::HttpRequest&) {
  auto text = metrics_text(host_, start_, clock_.monotonic());
  if (!text) return error_for(text.error());
  return {.status = 200, .body = std::move(*text), .content_type = kMetricsType};
}

faults::HttpReply AdminApi::show_clock(const faults::HttpRequest&) {
  return json_reply(200, {{"civil", to_rfc3339(clock_.civil())},
                          {"monotonic_ms", since(clock_.monotonic(), start_)}});
}

faults::HttpReply AdminApi::list_profiles(const faults::HttpRequest&) {
  Json list = Json::array();
  for (const auto& profile : profiles()) list.push_back(profile_json(profile));
  return json_reply(200, {{"profiles", std::move(list)}});
}

faults::HttpReply AdminApi::show_profile(const faults::HttpRequest&) {
  return json_reply(200, profile_json(host_.profile()));
}

faults::HttpReply AdminApi::heal_faults(const faults::HttpRequest&) {
  host_.faults().heal();
  return json_reply(200, {{"status", "healed"}});
}

faults::HttpReply AdminApi::remove_fault(const faults::HttpRequest& request) {
  const auto gone =
      host_.faults().remove(std::string_view(request.path).substr(kFaultsPath.size()));
  return gone ? json_reply(200, {{"status", "removed"}}) : error_for(gone.error());
}

faults::HttpReply AdminApi::reset(const faults::HttpRequest&) {
  const auto done = host_.reset();
  return done ? json_reply(200, {{"status", "reset"}}) : error_for(done.error());
}

faults::HttpReply AdminApi::list_effects(const faults::HttpRequest&) {
  const auto effects = host_.effects();
  if (!effects) return error_for(effects.error());
  Json list = Json::array();
  for (const auto& effect : *effects) {
    list.push_back({{"id", effect.id},
                    {"service", effect.service},
                    {"kind", effect.kind},
                    {"business_ref", effect.business_ref},
                    {"key", effect.key},
                    {"reference", effect.reference},
                    {"parent", effect.parent},
                    {"params", effect.params},
                    {"request", effect.request},
                    {"committed_at", to_rfc3339(effect.committed_at_civil)}});
  }
  return json_reply(200, {{"effects", std::move(list)}});
}

faults::HttpReply AdminApi::list_wire(const faults::HttpRequest& request) {
  const auto after = number_of(request, "after", 0);
  const auto limit = number_of(request, "limit", kMaxPage);
  const auto status = number_of(request, "status", 0);
  if (!after || !limit || !status) {
    return faults::error_reply(400, "invalid_argument",
                               "after, limit and status are whole numbers");
  }
  const auto text = [&](const char* name) -> std::optional<std::string> {
    const auto found = request.query.find(name);
    if (found == request.query.end()) return std::nullopt;
    return found->second;
  };
  std::optional<Disposition> disposition;
  if (const auto name = text("disposition")) {
    disposition = parse_disposition(*name);
    if (!disposition) {
      return faults::error_reply(400, "invalid_argument",
                                 "disposition is one of pending, created, replayed, rejected, "
                                 "mismatch, in_flight, found, not_found, failed");
    }
  }
  const auto wanted = [service = text("service"), route = text("route"), key = text("key"),
                       business_ref = text("business_ref"), worker = text("worker"), disposition,
                       status = request.query.contains("status") ? status : std::nullopt](
                          const WireEntry& entry) {
    return (!service || *service == entry.service) && (!route || *route == entry.route) &&
           (!key || *key == entry.key) && (!business_ref || *business_ref == entry.business_ref) &&
           (!worker || *worker == entry.worker) &&
           (!disposition || *disposition == entry.disposition) &&
           (!status || std::cmp_equal(*status, entry.status));
  };
  Json list = Json::array();
  for (const auto& entry :
       host_.wire_log().entries(*after, std::min<std::size_t>(*limit, kMaxPage), wanted)) {
    list.push_back(to_json(entry, start_));
  }
  return json_reply(200, {{"requests", std::move(list)}, {"total", host_.wire_log().size()}});
}

faults::HttpReply AdminApi::list_faults(const faults::HttpRequest&) {
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

// One fault, or a list of them: then all or none.
faults::HttpReply AdminApi::arm_faults(const faults::HttpRequest& request) {
  const auto body = parse_json(request.body, "body");
  if (!body) return error_for(body.error());
  std::vector<faults::Fault> faults;
  for (const auto& one : body->is_array() ? *body : Json::array({*body})) {
    auto fault = faults::fault_from_json(one);
    if (!fault) return error_for(fault.error());
    faults.push_back(std::move(*fault));
  }
  const auto names = host_.faults().arm(std::move(faults));
  if (!names) return error_for(names.error());
  if (!body->is_array()) return json_reply(201, {{"name", names->front()}});
  return json_reply(201, {{"names", *names}});
}

}  // namespace onceproof::fakes
