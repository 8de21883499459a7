// Idempotency in front of a provider that has none: the client sends an Idempotency-Key, the
// journal has a unique index by it, and the upstream sees each intent's effect at most once as far
// as one can know. A driver of the executor; what an answer of the upstream proves is decided by
// reference/outcome.h, what is done about it by reference/protocol.h. Knows no socket:
// reference/gateway_server.h listens. Invariants: a request of a route is forwarded only under a
// claimed attempt; the first final answer is stored sealed, and a repeat gets its status and body.
// Source: draft-ietf-httpapi-idempotency-key-header; RFC 9457 (problem+json).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/executor.h"
#include "reference/http_client.h"
#include "reference/policy_file.h"
#include "reference/reconciler.h"

namespace onceproof {

struct GatewayRequest {
  std::string method;
  std::string target;  // "/payments?expand=all"
  HeaderLines headers;
  std::string body;
};

struct GatewayResponse {
  int status = 500;
  std::string content_type;
  HeaderLines headers;
  std::string body;
};

// An answer of the gateway's own, as application/problem+json; `type` is the end of its URN.
// Source: RFC 9457.
GatewayResponse problem(int status, std::string_view type, std::string_view title,
                        std::string_view detail);

struct GatewayParts {
  Clock& clock;
  Journal& journal;
  Random& random;
  const PolicyFile& policy;
  const Sealer& sealer;  // for the stored answers
  HttpClient& upstream;
};

// Whether a gateway can stand on this policy. Errors: invalid_argument (no route; a tool that it
// cannot serve: with a lookup, keep_params or follow_ups).
Result<void> check_gateway(const PolicyFile& policy);

class Gateway {
 public:
  // Errors: those of check_gateway.
  static Result<std::unique_ptr<Gateway>> make(GatewayParts parts);
  ~Gateway();

  // A route's request: 400 (no key, a wrong one, a body that breaks the policy), 409 (in flight),
  // 422 (another request under this key), 502 (no effect exists), 503 (no journal), 504 (the
  // outcome is unknown, or with a person), all as problem+json; or the upstream's first final
  // answer. A repeat of it has the header Idempotency-Replayed: true. GET and HEAD are passed on as
  // they are; anything else is 404. Blocks for at most the tool's call_timeout, plus local
  // transactions. Thread-safe.
  GatewayResponse handle(const GatewayRequest& request);

  // Hands to a person what stayed unknown for longer than the policy says. One pass.
  Result<ReconcilePass> reconcile();

 private:
  struct Route;
  explicit Gateway(GatewayParts parts);
  const Route* find_route(const GatewayRequest& request) const;
  GatewayResponse protect(const Route& route, const GatewayRequest& request);
  GatewayResponse pass_on(const GatewayRequest& request);
  GatewayResponse respond(const Answer& answer, bool called, Milliseconds call_timeout);
  ExecutorParts executor_parts(std::map<std::string, Provider*> providers);

  GatewayParts parts_;
  Policy policy_;  // as given, with what the gateway itself keeps of an answer
  Protocol protocol_;
  std::vector<Route> routes_;
};

}  // namespace onceproof
