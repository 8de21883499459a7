// The payment provider over HTTP, as docs/sut-protocol.md describes it: POST {url}/payments with
// the operation key in the header and in the reference field; GET {url}/payments by key or by
// reference, as the guarantees say. Invariant: the request of one operation has the same key and
// the same bytes on every attempt. Classifies nothing itself (reference/outcome.h) and retries
// nothing. Source: guide, steps 5-7.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "reference/outcome.h"
#include "reference/provider.h"

namespace onceproof {

class HttpClient;

// Where one action's effects are made and found.
struct HttpService {
  std::string_view action;     // "create_payment"
  std::string_view service;    // "payments", as `init` names it
  std::string_view path;       // "/payments"
  std::string_view completed;  // the `status` of a finished effect
};

// Every action that HttpProvider can perform.
std::span<const HttpService> http_services();

class HttpProvider final : public Provider {
 public:
  // Errors: those of HttpClient::make; they name the service.
  static Result<std::unique_ptr<HttpProvider>> make(const HttpService& service,
                                                    std::string_view url, Guarantees guarantees,
                                                    Clock& clock);
  ~HttpProvider() override;

  CallOutcome call(const CallRequest& request) override;
  // Without a lookup guarantee: `unsupported`, and no request is made.
  LookupResult find(std::string_view action, std::string_view operation_key,
                    Milliseconds timeout) override;
  const Guarantees& guarantees() const override { return guarantees_; }

 private:
  HttpProvider(const HttpService& service, std::unique_ptr<HttpClient> client,
               Guarantees guarantees, Clock& clock);

  HttpService service_;
  std::unique_ptr<HttpClient> client_;
  Guarantees guarantees_;
  EffectShape shape_;
  Clock& clock_;
};

}  // namespace onceproof
