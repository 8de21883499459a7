// Operations for the tests of journals, and their text for comparison.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "reference/journal.h"

namespace onceproof {

inline CivilTime at(Milliseconds since_start) {
  return CivilTime{Milliseconds{1'767'225'600'000}} + since_start;  // 2026-01-01
}

inline std::string key(int n) {
  return fmt::format("op_{:04}", n);
}

inline Operation sample(int n) {
  Operation operation;
  operation.operation_key = key(n);
  operation.tenant = "t1";
  operation.intent_id = fmt::format("order-{}/intent-01", n);
  operation.action_type = "create_payment";
  operation.request_hash = fmt::format("{:064x}", n);
  operation.field_digests = {{"amount_minor", "0123456789abcdef"},
                             {"currency", "fedcba9876543210"}};
  operation.created_at = at(Milliseconds{0});
  operation.updated_at = operation.created_at;
  operation.event_count = 1;  // as it is once it is registered
  return operation;
}

inline std::string describe(const std::optional<CivilTime>& time) {
  if (!time) return "-";
  const auto ms = (*time - at(Milliseconds{0})).count();
  return ms % 1000 == 0 ? fmt::format("{}", ms / 1000) : fmt::format("{}ms", ms);
}

// Every member.
inline std::string describe(const Operation& o) {
  return fmt::format(
      "{} tenant={} intent={} action={} hash={} v{} digests={} {} attempts={} first={} last={}..{} "
      "lease={}/{} id={} "
      "result={} error={} checks={} unknown_since={} next_check={} review={} by={} created={} "
      "updated={} events={} sealed={} parent={}",
      o.operation_key, o.tenant, o.intent_id, o.action_type, o.request_hash, o.hash_version,
      Json(o.field_digests).dump(), to_text(o.status), o.attempt_count,
      describe(o.first_attempt_at), describe(o.last_attempt_at), describe(o.attempt_until),
      o.lease_owner, describe(o.lease_until), o.external_id, to_line(o.result), o.error_code,
      o.check_count, describe(o.unknown_since), describe(o.next_check_at), describe(o.review_since),
      o.resolved_by, describe(o.created_at), describe(o.updated_at), o.event_count, o.sealed_params,
      o.parent_key);
}

inline std::string describe(const Event& e) {
  return fmt::format("{} #{} @{} {} {} -> {} {} {}", e.operation_key, e.seq, describe(e.at),
                     e.actor, e.from_status ? to_text(*e.from_status) : "-", to_text(e.to_status),
                     e.reason, e.detail);
}

inline std::string keys_of(const std::vector<Operation>& operations) {
  std::string keys;
  for (const auto& operation : operations) keys += operation.operation_key + " ";
  return keys;
}

}  // namespace onceproof
