#include "reference/http_provider.h"

#include <fmt/format.h>

#include <array>

#include "reference/http_client.h"

namespace onceproof {
namespace {

constexpr std::array kServices{
    HttpService{"create_payment", "payments", "/payments", "succeeded"},
};

// A key may hold any visible ASCII character, '&' and '#' too. Source: RFC 3986, section 2.3.
std::string percent_encode(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

}  // namespace

std::span<const HttpService> http_services() {
  return kServices;
}

Result<std::unique_ptr<HttpProvider>> HttpProvider::make(const HttpService& service,
                                                         std::string_view url,
                                                         Guarantees guarantees, Clock& clock) {
  auto client = HttpClient::make(url, clock);
  if (!client) {
    return fail(client.error().code,
                fmt::format("service {}: {}", service.service, client.error().message));
  }
  return std::unique_ptr<HttpProvider>(
      new HttpProvider(service, std::move(*client), std::move(guarantees), clock));
}

HttpProvider::HttpProvider(const HttpService& service, std::unique_ptr<HttpClient> client,
                           Guarantees guarantees, Clock& clock)
    : service_(service),
      client_(std::move(client)),
      guarantees_(std::move(guarantees)),
      shape_{.reference_field = guarantees_.reference_field,
             .completed = std::string(service.completed)},
      clock_(clock) {}

HttpProvider::~HttpProvider() = default;

CallOutcome HttpProvider::call(const CallRequest& request) {
  HttpRequest post;
  post.method = "POST";
  post.target = service_.path;
  if (guarantees_.key_dedup) {
    post.headers.emplace_back(guarantees_.key_dedup->header, request.operation_key);
  }
  Json body = request.params.is_object() ? request.params : Json::object();
  if (!guarantees_.reference_field.empty())
    body[guarantees_.reference_field] = request.operation_key;
  post.body = to_line(body);
  post.new_connection = !guarantees_.key_dedup;
  const Exchange exchange = client_->exchange(post, request.timeout);
  return classify_call(exchange, request.operation_key, shape_, guarantees_, clock_.civil());
}

LookupResult HttpProvider::find(std::string_view, std::string_view operation_key,
                                Milliseconds timeout) {
  if (!guarantees_.lookup) {
    LookupResult none;
    none.kind = LookupKind::unsupported;
    none.error_code = "lookup_unsupported";
    return none;
  }
  HttpRequest get;
  get.method = "GET";
  const bool by_key = guarantees_.lookup->by == LookupBy::key;
  get.target = fmt::format("{}?{}={}", service_.path, by_key ? "idempotency_key" : "reference",
                           percent_encode(operation_key));
  return classify_lookup(client_->exchange(get, timeout), operation_key, shape_);
}

}  // namespace onceproof
