#include "fakes/payments.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"

namespace onceproof::fakes {
namespace {

constexpr std::string_view kPath = "/payments";
constexpr std::size_t kMaxKeyBytes = 255;
constexpr std::size_t kMaxTextBytes = 255;
constexpr std::int64_t kMaxAmount = 9'007'199'254'740'991;  // 2^53 - 1

faults::HttpReply invalid(std::string_view message) {
  return faults::error_reply(422, "validation_failed", message);
}

bool is_currency(std::string_view text) {
  return text.size() == 3 && std::ranges::all_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
}

// The order id as text: numbers are welcome too.
std::string order_id_of(const Json& params) {
  const Json* id = find_member(params, "order_id");
  if (id == nullptr) return {};
  if (id->is_string()) return id->get<std::string>();
  return id->is_number_integer() ? to_line(*id) : std::string();
}

std::optional<faults::HttpReply> check_payment(const Json& params) {
  if (!params.is_object()) return invalid("the body must be a JSON object");
  const auto order_id = order_id_of(params);
  if (order_id.empty() || order_id.size() > kMaxTextBytes) {
    return invalid("order_id must be a text of 1 to 255 bytes, or an integer");
  }
  const Json* amount = find_member(params, "amount_minor");
  const auto value = find_integer(params, "amount_minor");
  if (amount == nullptr || !amount->is_number_integer() || !value || *value < 1 ||
      *value > kMaxAmount) {
    return invalid("amount_minor must be an integer from 1 to 9007199254740991, in minor units");
  }
  if (!is_currency(find_string(params, "currency").value_or(""))) {
    return invalid("currency must be an ISO 4217 code in upper case, such as RUB");
  }
  const Json* reference = find_member(params, "reference");
  if (reference != nullptr && (!reference->is_string() ||
                               reference->get_ref<const std::string&>().size() > kMaxTextBytes)) {
    return invalid("reference must be a text of at most 255 bytes");
  }
  return std::nullopt;
}

void read_create(const faults::HttpRequest& request, Reading& reading) {
  auto body = parse_json(request.body, "body", {.max_bytes = 1 << 20, .max_depth = 32});
  if (!body) {
    reading.refusal =
        faults::error_reply(400, "invalid_json", escape_terminal(body.error().message));
    return;
  }
  reading.params = std::move(*body);
  reading.business_ref = order_id_of(reading.params);
  reading.reference = find_string(reading.params, "reference").value_or("");
  if (reading.key.size() > kMaxKeyBytes) {
    reading.refusal =
        faults::error_reply(400, "invalid_key", "Idempotency-Key must be at most 255 bytes long");
    return;
  }
  reading.refusal = check_payment(reading.params);
  if (!reading.refusal && find_string(reading.params, "payment_method") == "card_declined") {
    reading.declined = faults::error_reply(402, "card_declined", "the card was declined");
  }
}

// One of the two queries, and the one that the profile offers.
void read_lookup(const faults::HttpRequest& request, const Profile& profile, Reading& reading) {
  const bool by_key = profile.lookup == LookupBy::key;
  const std::string_view wanted = by_key ? "idempotency_key" : "reference";
  const auto query = request.query.find(std::string(wanted));
  if (query == request.query.end() || query->second.empty()) {
    reading.refusal =
        faults::error_reply(400, "invalid_query", fmt::format("ask for {}?{}=...", kPath, wanted));
    return;
  }
  (by_key ? reading.key : reading.reference) = query->second;
  reading.query = {
      .kind = "payment", .by = by_key ? FindBy::key : FindBy::reference, .value = query->second};
}

Json to_payment(const Effect& effect) {
  Json payment = effect.params;
  payment["id"] = effect.id;
  payment["status"] = "succeeded";
  payment["created_at"] = to_rfc3339(effect.committed_at_civil);
  return payment;
}

}  // namespace

Reading Payments::read(const faults::HttpRequest& request, std::string_view path,
                       const Profile& profile) const {
  Reading reading;
  const bool collection = path == kPath;
  const bool item = path.starts_with("/payments/") && path.size() > kPath.size() + 1;
  if (!collection && !item) {
    reading.route = "other";
    reading.refusal = faults::error_reply(
        404, "not_found", "there is POST /payments, GET /payments and GET /payments/{id}");
    return reading;
  }
  if (collection && request.method == "POST") {
    reading.route = "create";
    reading.work = Work::write;
    reading.key = request.header("idempotency-key");
    read_create(request, reading);
  } else if (request.method == "GET" && profile.lookup == LookupBy::none) {
    reading.route = item ? "get" : "lookup";
    reading.refusal = faults::error_reply(501, "lookup_unsupported",
                                          "this provider cannot be asked what it has done");
  } else if (request.method == "GET" && item) {
    reading.route = "get";
    reading.work = Work::read;
    reading.one = true;
    reading.query = {
        .kind = "payment", .by = FindBy::id, .value = std::string(path.substr(kPath.size() + 1))};
  } else if (request.method == "GET") {
    reading.route = "lookup";
    reading.work = Work::read;
    read_lookup(request, profile, reading);
  } else {
    reading.route = "other";
    reading.refusal = faults::error_reply(405, "method_not_allowed",
                                          "payments are made with POST and read with GET");
  }
  return reading;
}

Result<Plan> Payments::plan(const Reading& reading, Ledger::View&) const {
  Effect effect;
  effect.kind = "payment";
  effect.business_ref = reading.business_ref;
  effect.reference = reading.reference;
  effect.params = reading.params;
  return Plan{.effects = {std::move(effect)}, .reply = {}};
}

faults::HttpReply Payments::made(const Reading&, const std::vector<Effect>& made) const {
  return {.status = 201, .body = to_line(to_payment(made.front()))};
}

faults::HttpReply Payments::one(const Reading&, const Found& found) const {
  return {.status = 200, .body = to_line(to_payment(found.effect))};
}

faults::HttpReply Payments::list(const Reading&, const std::vector<Found>& found,
                                 bool has_more) const {
  Json data = Json::array();
  for (const auto& one : found) data.push_back(to_payment(one.effect));
  return {.status = 200, .body = to_line(Json{{"data", std::move(data)}, {"has_more", has_more}})};
}

faults::HttpReply Payments::missing(const Reading&) const {
  return faults::error_reply(404, "not_found", "there is no such payment");
}

}  // namespace onceproof::fakes
