#include "reference/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "base/json.h"
#include "base/text.h"

namespace onceproof {
namespace {

constexpr Milliseconds kLongestRetryAfter{86'400'000};
constexpr std::size_t kLongestExternalId = 200;
constexpr std::size_t kLongestErrorCode = 64;

// What the body is, as far as the table needs to know.
enum class Shape {
  effect,             // an effect of ours, finished, with an id
  effect_unfinished,  // an effect of ours, not finished yet
  effect_foreign,     // an effect that names another operation
  error,              // {"error":{"code":"..."}}
  other,              // anything else, nothing included
};

// What the guarantees say of an answer.
enum class Proof {
  none,
  no_effect,            // listed: no effect exists
  no_effect_try_later,  // listed, and the status says that a later call may succeed
};

struct Row {
  ExchangeEnd end;
  int status_from;
  int status_to;
  std::optional<Shape> shape;  // absent: any
  std::optional<Proof> proof;  // absent: any
  OutcomeKind kind;
  std::string_view error_code;  // empty: the provider's own code, or http_<status>
};

// The first row that fits decides; if none does, the outcome is ambiguous.
constexpr std::array kTable{
    Row{ExchangeEnd::not_sent, 0, 999, {}, {}, OutcomeKind::not_started, "not_sent"},
    Row{ExchangeEnd::send_broken, 0, 999, {}, {}, OutcomeKind::ambiguous, "send_broken"},
    Row{ExchangeEnd::no_answer, 0, 999, {}, {}, OutcomeKind::ambiguous, "no_answer"},
    Row{ExchangeEnd::answer_cut, 0, 999, {}, {}, OutcomeKind::ambiguous, "answer_cut"},
    Row{ExchangeEnd::timed_out, 0, 999, {}, {}, OutcomeKind::ambiguous, "timeout"},
    Row{ExchangeEnd::too_large, 0, 999, {}, {}, OutcomeKind::ambiguous, "answer_too_large"},
    Row{ExchangeEnd::malformed, 0, 999, {}, {}, OutcomeKind::ambiguous, "answer_malformed"},
    // 202 is an acceptance, 206 a part: neither is a finished effect.
    Row{ExchangeEnd::complete, 200, 201, Shape::effect, {}, OutcomeKind::confirmed, "none"},
    Row{ExchangeEnd::complete,
        200,
        299,
        Shape::effect_foreign,
        {},
        OutcomeKind::ambiguous,
        "answer_foreign"},
    Row{ExchangeEnd::complete,
        200,
        299,
        Shape::effect_unfinished,
        {},
        OutcomeKind::ambiguous,
        "unfinished"},
    Row{ExchangeEnd::complete, 200, 299, {}, {}, OutcomeKind::ambiguous, "answer_unexpected"},
    Row{ExchangeEnd::complete, 400, 599, Shape::error, Proof::no_effect, OutcomeKind::rejected, ""},
    Row{ExchangeEnd::complete, 400, 599, Shape::error, Proof::no_effect_try_later,
        OutcomeKind::not_started, ""},
    Row{ExchangeEnd::complete, 100, 999, {}, {}, OutcomeKind::ambiguous, ""},
};

bool is_json(std::string_view content_type) {
  std::string type = to_lower(content_type.substr(0, content_type.find(';')));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.pop_back();
  return type == "application/json" ||
         (type.starts_with("application/") && type.ends_with("+json"));
}

// The body as JSON, or null: of another type, not valid, or nothing.
Json parse_body(const Exchange& exchange) {
  if (exchange.end != ExchangeEnd::complete || !is_json(exchange.content_type)) return nullptr;
  JsonLimits limits;
  limits.max_bytes = std::max(limits.max_bytes, exchange.body.size());  // limited when it was read
  auto parsed = parse_json(exchange.body, "answer", limits);
  return parsed ? std::move(*parsed) : Json(nullptr);
}

bool is_visible(std::string_view text, std::size_t longest) {
  return !text.empty() && text.size() <= longest &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

std::optional<std::string> find_error_code(const Json& body, const EffectShape& shape) {
  const Json* code = find_pointer(body, shape.error);
  if (code == nullptr || !code->is_string()) return std::nullopt;
  auto text = code->get<std::string>();
  if (text.empty()) return std::nullopt;
  return text;
}

std::optional<std::string> find_id(const Json& body, const EffectShape& shape) {
  const Json* id = find_pointer(body, shape.id);
  if (id == nullptr) return std::nullopt;
  if (shape.number_ids && id->is_number_integer()) return to_line(*id);
  if (!id->is_string()) return std::nullopt;
  return id->get<std::string>();
}

// What is kept of the provider's code: it is short and made as codes are. Anything else might be a
// text, and four digits in a row might be a part of a card's or a phone's number.
bool is_safe_code(std::string_view code) {
  std::size_t digits_in_a_row = 0;
  for (const char c : code) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    if (!letter && !digit && c != '_' && c != '.' && c != '-') return false;
    digits_in_a_row = digit ? digits_in_a_row + 1 : 0;
    if (digits_in_a_row == 4) return false;
  }
  return !code.empty() && code.size() <= kLongestErrorCode;
}

Shape find_shape(const Json& body, std::string_view operation_key, const EffectShape& shape) {
  if (find_error_code(body, shape)) return Shape::error;
  const auto id = find_id(body, shape);
  if (!id || !is_visible(*id, kLongestExternalId)) return Shape::other;
  if (const Json* echo =
          shape.reference_field.empty() ? nullptr : find_member(body, shape.reference_field)) {
    if (!echo->is_string() || echo->get_ref<const std::string&>() != operation_key) {
      return Shape::effect_foreign;
    }
  }
  if (shape.completed.empty()) return Shape::effect;
  const auto status = find_string(body, "status");
  if (!status) return Shape::other;
  return *status == shape.completed ? Shape::effect : Shape::effect_unfinished;
}

bool says_try_later(int status) {
  return status == 408 || status == 425 || status == 429 || status >= 500;
}

// An error about the key, or about something that is there already, says nothing against the
// effect, unless the provider promises just that, by name.
bool may_mean_an_effect(std::string_view code) {
  const std::string lower = to_lower(code);
  return std::ranges::any_of(
      std::array{"idempoten", "already", "duplicate", "exists"},
      [&](const char* word) { return lower.find(word) != std::string::npos; });
}

Proof find_proof(int status, std::string_view code, const Guarantees& guarantees) {
  for (const auto& listed : guarantees.no_effect) {
    if (listed.status != status) continue;
    if (listed.error.empty() ? may_mean_an_effect(code) : listed.error != code) continue;
    return says_try_later(status) ? Proof::no_effect_try_later : Proof::no_effect;
  }
  return Proof::none;
}

bool fits(const Row& row, const Exchange& exchange, Shape shape, Proof proof) {
  return row.end == exchange.end && exchange.status >= row.status_from &&
         exchange.status <= row.status_to && (!row.shape || *row.shape == shape) &&
         (!row.proof || *row.proof == proof);
}

LookupResult no_lookup(LookupKind kind, std::string error_code) {
  LookupResult result;
  result.kind = kind;
  result.error_code = std::move(error_code);
  return result;
}

}  // namespace

std::string_view to_text(ExchangeEnd end) {
  switch (end) {
    case ExchangeEnd::complete:
      return "complete";
    case ExchangeEnd::not_sent:
      return "not_sent";
    case ExchangeEnd::send_broken:
      return "send_broken";
    case ExchangeEnd::no_answer:
      return "no_answer";
    case ExchangeEnd::answer_cut:
      return "answer_cut";
    case ExchangeEnd::timed_out:
      return "timed_out";
    case ExchangeEnd::too_large:
      return "too_large";
    case ExchangeEnd::malformed:
      return "malformed";
  }
  return "malformed";
}

CallOutcome classify_call(const Exchange& exchange, std::string_view operation_key,
                          const EffectShape& shape, const Guarantees& guarantees, CivilTime now) {
  Json body = parse_body(exchange);
  const Shape found = find_shape(body, operation_key, shape);
  const auto code = find_error_code(body, shape);
  const Proof proof = find_proof(exchange.status, code.value_or(""), guarantees);
  CallOutcome outcome;
  outcome.error_code = fmt::format("http_{}", exchange.status);
  if (code && is_safe_code(*code)) outcome.error_code = *code;
  const auto* row = std::find_if(kTable.begin(), kTable.end(), [&](const Row& candidate) {
    return fits(candidate, exchange, found, proof);
  });
  if (row != kTable.end()) {
    outcome.kind = row->kind;
    if (!row->error_code.empty()) outcome.error_code = row->error_code;
  }
  if (outcome.kind == OutcomeKind::confirmed) {
    outcome.error_code.clear();
    outcome.external_id = *find_id(body, shape);
    outcome.result = std::move(body);
  } else if (exchange.end == ExchangeEnd::complete) {
    outcome.retry_after = parse_retry_after(exchange.retry_after, now);
  }
  return outcome;
}

LookupResult classify_lookup(const Exchange& exchange, std::string_view operation_key,
                             const EffectShape& shape) {
  if (exchange.end != ExchangeEnd::complete) {
    return no_lookup(LookupKind::failed, std::string(to_text(exchange.end)));
  }
  const Json body = parse_body(exchange);
  if (exchange.status == 501) return no_lookup(LookupKind::unsupported, "lookup_unsupported");
  if (exchange.status != 200) {
    return no_lookup(LookupKind::failed, fmt::format("http_{}", exchange.status));
  }
  const Json* data = find_member(body, "data");
  const auto has_more = find_bool(body, "has_more");
  if (data == nullptr || !data->is_array() || !has_more) {
    return no_lookup(LookupKind::failed, "answer_unexpected");
  }
  const Json* ours = nullptr;
  for (const auto& entry : *data) {
    const Shape kind = find_shape(entry, operation_key, shape);
    if (kind != Shape::effect && kind != Shape::effect_unfinished) {
      // A search that lists what was not asked for may as well hide what was.
      return no_lookup(LookupKind::failed, "listing_foreign");
    }
    // Which one it is about must be said: what an effect of somebody else's is taken for is worse
    // than a doubt.
    const bool named = shape.reference_field.empty() || find_member(entry, shape.reference_field);
    if (!named) return no_lookup(LookupKind::failed, "listing_unnamed");
    // Two effects of one operation: a person must look, whichever is the right one. (A search that
    // flaps may show one of them twice.)
    if (ours != nullptr && find_id(*ours, shape) != find_id(entry, shape)) {
      return no_lookup(LookupKind::found_several, "several_effects");
    }
    ours = &entry;
  }
  if (ours == nullptr) {
    return *has_more ? no_lookup(LookupKind::failed, "listing_cut")
                     : no_lookup(LookupKind::not_found, "not_found");
  }
  if (find_shape(*ours, operation_key, shape) != Shape::effect) {
    return no_lookup(LookupKind::found_incomplete, "unfinished");
  }
  LookupResult result;
  result.kind = LookupKind::found;
  result.external_id = *find_id(*ours, shape);
  result.result = *ours;
  return result;
}

std::optional<Milliseconds> parse_retry_after(std::string_view text, CivilTime now) {
  if (text.empty() || text.size() > 64) return std::nullopt;
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (end == text.data() + text.size()) {
    if (error == std::errc::result_out_of_range) return kLongestRetryAfter;
    if (seconds < 0) return std::nullopt;
    return std::min(Milliseconds{std::min<std::int64_t>(seconds, 86'400) * 1000},
                    kLongestRetryAfter);
  }
  std::tm parts{};
  const std::string date(text);
  const char* rest = strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (rest == nullptr || *rest != '\0') return std::nullopt;
  const CivilTime when{Milliseconds{static_cast<std::int64_t>(timegm(&parts)) * 1000}};
  return std::clamp(when - now, Milliseconds{0}, kLongestRetryAfter);
}

}  // namespace onceproof
