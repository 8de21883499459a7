#include "reference/gateway.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/digest.h"
#include "base/text.h"
#include "net/request_head.h"
#include "reference/idempotency_key.h"

namespace onceproof {
namespace {

constexpr std::string_view kOwner = "gateway";
constexpr Milliseconds kPassTimeout{30'000};

// For this hop alone, or made anew. Source: RFC 9110, section 7.6.1.
bool is_of_this_hop(std::string_view lower_case_name) {
  constexpr std::array<std::string_view, 11> names{"connection",
                                                   "content-length",
                                                   "expect",
                                                   "host",
                                                   "keep-alive",
                                                   "te",
                                                   "proxy-connection",
                                                   "trailer",
                                                   "upgrade",
                                                   "transfer-encoding",
                                                   "proxy-authorization"};
  return std::ranges::find(names, lower_case_name) != names.end();
}

// Headers by which a harmless method is taken for another one.
bool is_method_override(std::string_view lower_case_name) {
  constexpr std::array<std::string_view, 3> names{"x-http-method", "x-http-method-override",
                                                  "x-method-override"};
  return std::ranges::find(names, lower_case_name) != names.end();
}

// `key_header`: the upstream's own; a client's line of that name could be taken for our key.
HttpRequest upstream_request(const GatewayRequest& request, std::string_view key_header) {
  HttpRequest upstream{request.method, request.target, {}, request.body};
  const auto connection = header_lines(request.headers, "Connection");
  for (const auto& header : request.headers) {
    const std::string name = to_lower(header.first);
    const bool ours = name == "idempotency-key" || name == to_lower(key_header) ||
                      name == "accept-encoding" || is_method_override(name);
    const bool named =
        std::ranges::any_of(connection, [&](const auto& line) { return net::lists(line, name); });
    if (ours || named || is_of_this_hop(name)) continue;
    upstream.headers.push_back(header);
  }
  return upstream;
}

std::vector<std::string_view> segments(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    path.remove_prefix(1);
    const auto end = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return parts;
}

bool fits_path(std::string_view pattern, std::string_view target) {
  const auto wanted = segments(pattern);
  const auto given = segments(target.substr(0, target.find_first_of("?#")));
  if (wanted.size() != given.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool any = wanted[i].starts_with('{') && wanted[i].ends_with('}');
    if (any ? given[i].empty() : wanted[i] != given[i]) return false;
  }
  return true;
}

GatewayResponse retry_after(GatewayResponse response, Milliseconds wait) {
  const auto seconds = std::max<std::int64_t>(1, (wait.count() + 999) / 1000);
  response.headers.emplace_back("Retry-After", std::to_string(seconds));
  return response;
}

GatewayResponse problem_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::parse_failed:
    case ErrorCode::limit_exceeded:
      return problem(400, "invalid-request", "The request cannot be taken", error.message);
    case ErrorCode::journal_unavailable:
      return retry_after(problem(503, "journal-unavailable", "Nothing was sent",
                                 "the gateway's journal cannot be written; repeat with this key"),
                         Milliseconds{1'000});
    default:
      return problem(500, "gateway", "The gateway cannot serve this",
                     error_row(error.code).sentence);
  }
}

// What is compared under one key: how, where to, and what. A body that is no JSON counts byte by
// byte.
Result<Json> identity_of(const GatewayRequest& request) {
  Json params{{"method", request.method}, {"target", request.target}};
  const auto types = header_lines(request.headers, "Content-Type");
  const bool json = !types.empty() && to_lower(types.front()).find("json") != std::string::npos;
  if (!json) {
    params["body_sha256"] = sha256_hex(request.body);
    return params;
  }
  auto body = parse_json(request.body, "body");
  if (!body) return tl::unexpected(body.error());
  params["body"] = std::move(*body);
  return params;
}

// One client's request as a provider: sends these very bytes, and keeps the answer sealed.
class Upstream final : public Provider {
 public:
  // Without a request it can be asked for its promises only: for the reconciler.
  Upstream(const GatewayParts& parts, const GatewayRoute& route, const Guarantees& guarantees,
           const GatewayRequest* request)
      : parts_(parts), route_(route), guarantees_(guarantees), request_(request) {}

  CallOutcome call(const CallRequest& call) override {
    CallOutcome outcome;
    outcome.kind = OutcomeKind::not_started;
    outcome.error_code = "not_sent";
    if (request_ == nullptr) return outcome;
    called_ = true;
    const auto& dedup = guarantees_.key_dedup;
    HttpRequest request = upstream_request(*request_, dedup ? dedup->header : "");
    if (dedup) request.headers.emplace_back(dedup->header, call.operation_key);
    request.new_connection = !dedup;
    const Exchange exchange = parts_.upstream.exchange(request, call.timeout);
    const EffectShape shape{.reference_field = "",
                            .completed = "",
                            .id = route_.id,
                            .number_ids = true,
                            .error = route_.error};
    outcome = classify_call(exchange, call.operation_key, shape, guarantees_, parts_.clock.civil());
    outcome.result = nullptr;
    if (outcome.kind == OutcomeKind::confirmed || outcome.kind == OutcomeKind::rejected) {
      outcome.result = {{"status", exchange.status},
                        {"sealed", parts_.sealer.seal(call.operation_key,
                                                      {{"content_type", exchange.content_type},
                                                       {"body", exchange.body}},
                                                      parts_.random)}};
    }
    return outcome;
  }
  LookupResult find(std::string_view, std::string_view, Milliseconds) override {
    return {LookupKind::unsupported, {}, nullptr, "lookup_unsupported"};
  }
  const Guarantees& guarantees() const override { return guarantees_; }
  bool called() const { return called_; }

 private:
  const GatewayParts& parts_;
  const GatewayRoute& route_;
  const Guarantees& guarantees_;
  const GatewayRequest* request_;
  bool called_ = false;
};

}  // namespace

struct Gateway::Route {
  GatewayRoute rule;
  Guarantees guarantees;
};

Gateway::Gateway(GatewayParts parts) : parts_(parts), policy_(parts.policy.policy) {}
Gateway::~Gateway() = default;

GatewayResponse problem(int status, std::string_view type, std::string_view title,
                        std::string_view detail) {
  const Json body{{"type", fmt::format("urn:onceproof:problem:{}", type)},
                  {"title", title},
                  {"status", status},
                  {"detail", detail}};
  return {status, "application/problem+json", {}, to_line(body)};
}

Result<void> check_gateway(const PolicyFile& policy) {
  if (policy.gateway.routes.empty()) {
    return fail(ErrorCode::invalid_argument,
                "the policy has no gateway.routes: nothing would be protected");
  }
  for (const auto& rule : policy.gateway.routes) {
    const auto wrong = [&](std::string_view what) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("gateway route {} {}: {}", rule.method,
                              escape_terminal(shorten(rule.path, 200)), what));
    };
    if (policy.guarantees_of(rule.action).lookup) {
      return wrong(
          "its provider promises a lookup, which the gateway does not make: it does not know the "
          "provider's search; leave lookup out");
    }
    const ToolPolicy& tool = policy.policy.tools.at(rule.action);
    for (const auto& [field, rules] : tool.fields) {
      if (field.starts_with("body.") || field == "body") continue;
      return wrong(fmt::format(
          "fields names '{}', and a request has no such member; what its JSON body has is "
          "'body.{}'",
          escape_terminal(shorten(field, 80)), escape_terminal(shorten(field, 80))));
    }
    if (tool.keep_params || !tool.follow_ups.empty()) {
      return wrong(
          "keep_params and follow_ups are not for the gateway: its client repeats the request");
    }
  }
  return {};
}

Result<std::unique_ptr<Gateway>> Gateway::make(GatewayParts parts) {
  std::unique_ptr<Gateway> gateway(new Gateway(parts));
  if (auto checked = check_gateway(parts.policy); !checked) {
    return tl::unexpected(checked.error());
  }
  for (const auto& rule : parts.policy.gateway.routes) {
    Route route{rule, parts.policy.guarantees_of(rule.action)};
    route.guarantees.reference_field.clear();  // a client's body is passed on as it is
    gateway->policy_.tools.at(rule.action).result_fields = {"status", "sealed"};
    gateway->routes_.push_back(std::move(route));
  }
  return gateway;
}

const Gateway::Route* Gateway::find_route(const GatewayRequest& request) const {
  const auto found = std::ranges::find_if(routes_, [&](const Route& route) {
    return route.rule.method == request.method && fits_path(route.rule.path, request.target);
  });
  return found == routes_.end() ? nullptr : &*found;
}

GatewayResponse Gateway::handle(const GatewayRequest& request) {
  if (const Route* route = find_route(request)) return protect(*route, request);
  if (request.method == "GET" || request.method == "HEAD") return pass_on(request);
  return problem(404, "no-route", "No route",
                 "no gateway.routes of the policy has this method and path, and what changes "
                 "something is not passed on unprotected");
}

GatewayResponse Gateway::protect(const Route& route, const GatewayRequest& request) {
  const auto key = parse_idempotency_key(header_lines(request.headers, "Idempotency-Key"));
  if (!key) {
    const bool missing = key.error().code == ErrorCode::not_found;
    return problem(400, missing ? "key-missing" : "key-invalid",
                   missing ? "Idempotency-Key is missing" : "Idempotency-Key is not valid",
                   key.error().message);
  }
  Intent intent;
  intent.intent_id = *key;
  intent.action = route.rule.action;
  if (const auto& header = parts_.policy.gateway.tenant_header; !header.empty()) {
    const auto lines = header_lines(request.headers, header);
    if (lines.size() != 1) {
      return problem(400, "tenant-missing", "The client does not say who it is",
                     fmt::format("the header {} must stand in the request once", header));
    }
    intent.tenant = sha256_hex(lines.front()).substr(0, 32);  // it may be a secret
  }
  auto params = identity_of(request);
  if (!params) return problem_of(params.error());
  intent.params = std::move(*params);
  Upstream upstream(parts_, route.rule, route.guarantees, &request);
  const auto answer = Executor(executor_parts({{intent.action, &upstream}})).submit(intent);
  if (!answer) return problem_of(answer.error());
  return respond(*answer, upstream.called(), policy_.tools.at(intent.action).call_timeout);
}

GatewayResponse Gateway::pass_on(const GatewayRequest& request) {
  Exchange exchange = parts_.upstream.exchange(upstream_request(request, ""), kPassTimeout);
  if (exchange.end != ExchangeEnd::complete) {
    return problem(502, "upstream", "The upstream gave no whole answer", to_text(exchange.end));
  }
  GatewayResponse response{exchange.status, std::move(exchange.content_type), {}, {}};
  for (auto& [name, value] : exchange.headers) {
    const std::string lower = to_lower(name);
    const bool length_of_no_body = request.method == "HEAD" && lower == "content-length";
    const bool made_anew = is_of_this_hop(lower) || lower == "content-type";
    if (length_of_no_body || !made_anew) response.headers.emplace_back(name, std::move(value));
  }
  response.body = std::move(exchange.body);
  return response;
}

GatewayResponse Gateway::respond(const Answer& answer, bool called, Milliseconds call_timeout) {
  const auto doubt = [&](std::string_view type, std::string_view detail) {
    return problem(504, type, "The outcome is unknown", detail);
  };
  switch (answer.status) {
    case AnswerStatus::succeeded:
    case AnswerStatus::failed_final:
      break;
    case AnswerStatus::conflict:
      return problem(422, "key-reused", "This key belongs to another request",
                     fmt::format("differs in: {}; a new intent needs a new key",
                                 fmt::join(answer.differing_fields, ", ")));
    case AnswerStatus::in_progress:
      return retry_after(problem(409, "in-flight", "A request with this key is being made",
                                 "repeat it later, with this key"),
                         Milliseconds{1'000});
    case AnswerStatus::pending:
      return retry_after(
          problem(502, "no-effect", "The upstream did not take it",
                  fmt::format("no effect exists ({}); repeat with this key",
                              answer.error_code.empty() ? "not sent" : answer.error_code)),
          Milliseconds{1'000});
    case AnswerStatus::review:
      return doubt("in-review",
                   "a person looks into it; do not send it under another key, repeat this one");
    case AnswerStatus::unknown:
    case AnswerStatus::verification_required:
      return retry_after(doubt("outcome-unknown",
                               "the effect may exist; do not send it under another key, repeat "
                               "this one"),
                         call_timeout);
  }
  GatewayResponse response;
  const auto status = find_integer(answer.result, "status");
  const auto sealed = find_string(answer.result, "sealed");
  if (status && sealed) {
    const auto stored = parts_.sealer.open(answer.operation_key, *sealed);
    if (!stored) {
      return problem(
          500, "stored-answer",
          answer.status == AnswerStatus::succeeded ? "It has succeeded" : "It was rejected",
          "the stored answer cannot be opened: its key is not at hand");
    }
    response.status = static_cast<int>(*status);
    response.content_type = find_string(*stored, "content_type").value_or("application/json");
    response.body = find_string(*stored, "body").value_or("");
  } else {
    // A person found it out: there is no answer of the upstream to repeat.
    const bool succeeded = answer.status == AnswerStatus::succeeded;
    response.status = succeeded ? 200 : 422;
    response.content_type = "application/json";
    response.body = to_line(Json{{"status", to_text(answer.status)},
                                 {"external_id", answer.external_id},
                                 {"error_code", answer.error_code}});
  }
  if (!called) response.headers.emplace_back("Idempotency-Replayed", "true");
  return response;
}

ExecutorParts Gateway::executor_parts(std::map<std::string, Provider*> providers) {
  return {parts_.clock, parts_.journal,       parts_.random,       protocol_,
          policy_,      std::move(providers), std::string(kOwner), nullptr};
}

Result<ReconcilePass> Gateway::reconcile() {
  std::map<std::string, std::unique_ptr<Upstream>> silent;
  std::map<std::string, Provider*> providers;
  for (const auto& route : routes_) {
    auto& provider = silent[route.rule.action];
    provider = std::make_unique<Upstream>(parts_, route.rule, route.guarantees, nullptr);
    providers[route.rule.action] = provider.get();
  }
  return Reconciler(executor_parts(std::move(providers))).run_once();
}

}  // namespace onceproof
