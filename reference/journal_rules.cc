#include "reference/journal_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "reference/operation_key.h"

namespace onceproof {
namespace {

constexpr std::size_t kLongestSealed = 4 << 20;
constexpr std::size_t kLongestWhy = 500;
constexpr std::size_t kLongestAction = 80;  // the guide's VARCHAR(80)

Result<void> check_length(std::string_view member, std::string_view text, std::size_t least,
                          std::size_t most) {
  if (text.size() >= least && text.size() <= most) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("{}: {} bytes; it must have {} to {}", member, text.size(), least, most));
}

bool is_sha256_hex(std::string_view text) {
  return text.size() == 64 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string shown(std::string_view untrusted) {
  return escape_terminal(shorten(untrusted, kLongestName));
}

}  // namespace

Result<void> check_registration(const Operation& operation) {
  if (!operation.error_code.empty()) return fail(ErrorCode::invalid_argument, operation.error_code);
  return check_operation_key(operation.operation_key)
      .and_then([&] { return check_length("tenant", operation.tenant, 0, kLongestName); })
      .and_then([&] { return check_length("intent_id", operation.intent_id, 1, kLongestName); })
      .and_then(
          [&] { return check_length("action_type", operation.action_type, 1, kLongestAction); })
      .and_then([&]() -> Result<void> {
        if (is_sha256_hex(operation.request_hash)) return {};
        return fail(ErrorCode::invalid_argument,
                    "request_hash: it must be SHA-256 in 64 lower-case hexadecimal digits");
      })
      .and_then([&] { return check_length("parent_key", operation.parent_key, 0, kLongestName); })
      .and_then([&] {
        return check_length("sealed_params", operation.sealed_params, 0, kLongestSealed);
      });
}

Operation registered_form(const Operation& operation) {
  Operation row;
  row.operation_key = operation.operation_key;
  row.tenant = operation.tenant;
  row.intent_id = operation.intent_id;
  row.action_type = operation.action_type;
  row.request_hash = operation.request_hash;
  row.hash_version = operation.hash_version;
  row.field_digests = operation.field_digests;
  row.sealed_params = operation.sealed_params;
  row.parent_key = operation.parent_key;
  row.created_at = operation.created_at;
  row.updated_at = operation.created_at;
  row.event_count = 1;
  return row;
}

tl::unexpected<Error> no_such_operation(std::string_view operation_key) {
  return fail(ErrorCode::not_found,
              fmt::format("no operation '{}' in the journal", shown(operation_key)));
}

tl::unexpected<Error> key_of_another_intent(const Operation& stored) {
  return fail(ErrorCode::already_exists,
              fmt::format("operation_key '{}' belongs to another intent; an intent has one key, "
                          "and a key one intent",
                          shown(stored.operation_key)));
}

tl::unexpected<Error> no_external_id(std::string_view operation_key) {
  return fail(ErrorCode::invalid_argument,
              fmt::format("{}: a success needs the provider's external_id", shown(operation_key)));
}

tl::unexpected<Error> claim_refused(const Operation& stored, const ClaimRequest& request) {
  const auto key = shown(stored.operation_key);
  const bool alive = stored.status == Status::in_progress && stored.lease_until &&
                     request.now <= *stored.lease_until;
  if (alive) {
    return fail(ErrorCode::lease_held,
                fmt::format("{}: '{}' holds the lease of attempt {} until {}", key,
                            shown(stored.lease_owner), stored.attempt_count,
                            to_rfc3339(*stored.lease_until)));
  }
  if (stored.review_since) {
    return fail(ErrorCode::stale_attempt,
                fmt::format("{}: it is in review; a person decides", key));
  }
  return fail(
      ErrorCode::stale_attempt,
      fmt::format("{}: it is {} after {} attempts, and the claim expected {}; read it again", key,
                  to_text(stored.status), stored.attempt_count, request.expected_attempt));
}

tl::unexpected<Error> write_refused(const Operation& stored, std::int64_t attempt) {
  return fail(ErrorCode::stale_attempt,
              fmt::format("{}: attempt {} may not change it; it is {}{} and its last attempt is {}",
                          shown(stored.operation_key), attempt, to_text(stored.status),
                          stored.review_since ? " (in review)" : "", stored.attempt_count));
}

Result<void> check_resolution(const Resolution& resolution) {
  const bool succeeded = resolution.how == Resolution::How::succeeded;
  if (succeeded && resolution.external_id.empty()) {
    return fail(ErrorCode::invalid_argument,
                "a success needs the provider's external_id: the effect that you saw");
  }
  if (!succeeded && !resolution.external_id.empty()) {
    return fail(ErrorCode::invalid_argument,
                "an external_id names an effect, and this resolution says that there is none");
  }
  return check_length("external_id", resolution.external_id, 0, kLongestName)
      .and_then([&] { return check_length("by", resolution.by, 1, kLongestName); })
      .and_then([&] { return check_length("why", resolution.why, 1, kLongestWhy); });
}

tl::unexpected<Error> resolve_refused(const Operation& stored, const Resolution& resolution) {
  const auto key = shown(stored.operation_key);
  if (!stored.review_since) {
    return fail(ErrorCode::stale_attempt,
                fmt::format("{}: it is not in review but {}{}; there is nothing to resolve", key,
                            to_text(stored.status),
                            stored.resolved_by.empty()
                                ? std::string()
                                : fmt::format(" (resolved by {})", shown(stored.resolved_by))));
  }
  return fail(ErrorCode::stale_attempt,
              fmt::format("{}: you saw {} events and there are {}; look again before you decide",
                          key, resolution.seen, stored.event_count));
}

Status resolved_status(const Resolution& resolution) {
  switch (resolution.how) {
    case Resolution::How::succeeded:
      return Status::succeeded;
    case Resolution::How::absent:
      return Status::pending;
    case Resolution::How::failed:
      return Status::failed_final;
  }
  return Status::unknown;
}

std::optional<std::string> follow_up_refused(const Operation& follow_up,
                                             const Result<Registered>& registered) {
  if (!registered) {
    return fmt::format("{}: {}", shown(follow_up.operation_key), shown(registered.error().message));
  }
  const Operation& stored = registered->operation;
  if (registered->created || (stored.operation_key == follow_up.operation_key &&
                              stored.request_hash == follow_up.request_hash)) {
    return std::nullopt;
  }
  return fmt::format("{}: its intent is another operation", shown(follow_up.operation_key));
}

std::string resolved_detail(const Resolution& resolution) {
  switch (resolution.how) {
    case Resolution::How::succeeded:
      return fmt::format("succeeded, external_id {}: {}", resolution.external_id, resolution.why);
    case Resolution::How::absent:
      return fmt::format("absent: {}", resolution.why);
    case Resolution::How::failed:
      return fmt::format("failed: {}", resolution.why);
  }
  return resolution.why;
}

std::string claimed_detail(std::int64_t attempt) {
  return fmt::format("attempt {}", attempt);
}

std::string confirmed_detail(std::int64_t attempt, std::int64_t attempt_count,
                             std::string_view external_id) {
  const std::string late = attempt == attempt_count ? "" : fmt::format(" of {}", attempt_count);
  return fmt::format("attempt {}{}, external_id {}", attempt, late, external_id);
}

}  // namespace onceproof
