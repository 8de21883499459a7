// The policy as people write it: the guide's `tool_policy` YAML, and what each provider promises.
//
//     provider:                                  # the promises; for every tool that has no block
//     of its own
//       key_dedup: {header: Idempotency-Key, window: 24h}
//       lookup: {by: key, complete: true, index_delay: 2s}
//       max_in_flight: 30s
//       no_effect: [{status: 400}, {status: 422, error: validation_failed}]
//     tool_policy:
//       create_payment:
//         operation_key: required
//         retry: {reuse_operation_key: true, on_timeout: reconcile_before_retry}
//         terminal_states: [succeeded, failed_final]
//         unknown_after: 15m                     # or the guide's unknown_after_seconds: 900
//         on_unresolved: require_human_review
//         fields: {amount_minor: minor_units, currency: currency, note: [absent_if_null, trim]}
//         result_fields: [status]
//       send_email:
//         provider: {lookup: null}
//     gateway:                                   # only for `onceproof gateway`
//       routes:
//         - {method: POST, path: /payments, action: create_payment, id: /id, error: /error/code}
//
// Every member but tool_policy may be left out; the defaults stand in policy.h and guarantees.h.
// Unknown members are errors.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "reference/guarantees.h"
#include "reference/policy.h"

namespace onceproof {

// What `onceproof gateway` protects: requests of this method and path are this action.
struct GatewayRoute {
  std::string method;                 // POST, PUT, PATCH or DELETE
  std::string path;                   // "/payments", "/accounts/{account}/payments"
  std::string action;                 // a tool of the policy
  std::string id = "/id";             // JSON Pointer: where a success has the effect's id
  std::string error = "/error/code";  // JSON Pointer: where a rejection has its code
};
struct GatewayPolicy {
  std::vector<GatewayRoute> routes;
  std::string tenant_header;  // its value separates clients whose keys may be equal; empty: none
};

struct PolicyFile {
  Policy policy;
  GatewayPolicy gateway;
  std::map<std::string, Guarantees>
      guarantees;  // by action; one for each tool: without a block, promises nothing

  Guarantees guarantees_of(const std::string& action) const;  // promises nothing if unknown
};

// `name` stands for the source in messages. Errors: parse_failed as "name:line:column: path: ...",
// limit_exceeded.
Result<PolicyFile> parse_policy(std::string_view yaml, std::string name);
// Errors: those, and not_found, io_failed.
Result<PolicyFile> read_policy_file(const std::filesystem::path& path);

}  // namespace onceproof
