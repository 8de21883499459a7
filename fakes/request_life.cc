#include "fakes/request_life.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/digest.h"
#include "base/text.h"

namespace onceproof::fakes {
namespace {

constexpr std::size_t kMaxLogged = 64 << 10;
constexpr std::size_t kMaxKnownRefs = 100'000;

// "/w1/payments" -> "w1", "/payments". A worker's name is a w and digits.
std::pair<std::string, std::string_view> split_worker(std::string_view path) {
  if (!path.starts_with("/w")) return {"", path};
  const auto end = std::min(path.find_first_not_of("0123456789", 2), path.size());
  if (end == 2 || (end < path.size() && path[end] != '/')) return {"", path};
  return {std::string(path.substr(1, end - 1)), path.substr(end)};
}

class RequestLife {
 public:
  RequestLife(FakeParts& parts, const faults::HttpRequest& request, std::stop_token stop)
      : parts_(parts),
        request_(request),
        stop_(std::move(stop)),
        received_at_(parts.clock.monotonic()) {}
  ~RequestLife() { leave_key(); }

  faults::Decision run();

 private:
  void read();
  void admit();
  void enter_key();
  void perform();
  void create();
  void look_up();
  void refuse(faults::HttpReply reply, Disposition disposition);
  void fail();
  void leave_key();
  std::string business_ref_of_lookup();

  std::optional<faults::Firing> visit(faults::Point point);
  std::optional<faults::Decision> strike(faults::Point point);
  faults::Decision answer(faults::HttpReply reply, bool truth);

  FakeParts& parts_;
  const faults::HttpRequest& request_;
  std::stop_token stop_;
  MonotonicTime received_at_;
  Reading reading_;
  faults::RequestFacts facts_;
  std::string fingerprint_;
  bool holds_key_ = false;
  bool struck_ = false;
  bool answered_ = false;  // reply_ is decided before anything is performed
  faults::HttpReply reply_;
};

faults::Decision RequestLife::run() {
  read();
  admit();
  if (auto decision = strike(faults::Point::request_received)) return std::move(*decision);
  if (!answered_) perform();
  leave_key();
  if (!struck_) {
    const auto took =
        std::chrono::duration_cast<Milliseconds>(parts_.clock.monotonic() - received_at_);
    std::int64_t longest = parts_.longest_service_ms;
    while (took.count() > longest &&
           !parts_.longest_service_ms.compare_exchange_weak(longest, took.count())) {
    }
  }
  if (auto decision = strike(faults::Point::after_commit)) return std::move(*decision);
  return answer(std::move(reply_), true);
}

void RequestLife::read() {
  const auto [worker, path] = split_worker(request_.path);
  reading_ = parts_.service.read(request_, path, parts_.profile);
  if (reading_.route == "create") {
    auto refs = parts_.known_refs.lock();
    if (refs->size() > kMaxKnownRefs) refs->clear();
    for (const auto& name : {reading_.key, reading_.reference}) {
      if (!name.empty()) (*refs)[name] = reading_.business_ref;
    }
  } else {
    reading_.business_ref = business_ref_of_lookup();
  }
  WireEntry entry;
  entry.connection = request_.connection;
  entry.worker = worker;
  entry.service = parts_.service.name();
  entry.route = reading_.route;
  entry.method = request_.method;
  entry.target = request_.target;
  entry.headers = request_.headers;
  entry.body = shorten(request_.body, kMaxLogged);
  entry.body_sha256 = fingerprint_ = sha256_hex(request_.body);
  entry.business_ref = reading_.business_ref;
  entry.key = reading_.key;
  entry.reference = reading_.reference;
  entry.params = reading_.params;
  entry.received_at = received_at_;
  facts_.request = parts_.wire_log.add(std::move(entry));
  facts_.service = parts_.service.name();
  facts_.route = reading_.route;
  facts_.business_ref = reading_.business_ref;
  facts_.key = reading_.key;
  facts_.worker = worker;
}

std::string RequestLife::business_ref_of_lookup() {
  if (!reading_.id.empty()) {
    const auto effects = parts_.ledger.find_by_id(reading_.id);
    return effects && !effects->empty() ? effects->front().business_ref : std::string();
  }
  auto refs = parts_.known_refs.lock();
  const auto known = refs->find(reading_.by == LookupBy::key ? reading_.key : reading_.reference);
  return known == refs->end() ? std::string() : known->second;
}

void RequestLife::admit() {
  if (reading_.refusal) {
    // A refused lookup proves nothing; a refused create proves that nothing was created.
    refuse(std::move(*reading_.refusal), Disposition::rejected);
  } else if (reading_.route == "create" && parts_.profile.key_dedup && !reading_.key.empty()) {
    enter_key();
  }
  if (!answered_ && !holds_key_ && reading_.declined) {
    refuse(std::move(*reading_.declined), Disposition::rejected);
  }
}

void RequestLife::enter_key() {
  auto entered = parts_.gate.enter(reading_.key, fingerprint_, parts_.ledger,
                                   parts_.profile.dedup_window, received_at_);
  if (!entered) return fail();
  if (std::holds_alternative<KeyGate::Mismatch>(*entered)) {
    refuse(faults::error_reply(422, "idempotency_mismatch",
                               "this Idempotency-Key was used with another body"),
           Disposition::mismatch);
  } else if (std::holds_alternative<KeyGate::InFlight>(*entered)) {
    refuse(faults::error_reply(409, "idempotency_in_flight",
                               "the first request with this Idempotency-Key has not ended"),
           Disposition::in_flight);
  } else if (const auto* stored = std::get_if<StoredKey>(&*entered)) {
    refuse({.status = stored->status,
            .body = stored->body,
            .headers = {{"Idempotent-Replayed", "true"}}},
           Disposition::replayed);
    const auto effects = parts_.ledger.find_by_key(reading_.key);
    if (effects && !effects->empty()) {
      parts_.wire_log.update(facts_.request,
                             [&](WireEntry& e) { e.effect_id = effects->front().id; });
    }
  } else {
    holds_key_ = true;
  }
}

void RequestLife::refuse(faults::HttpReply reply, Disposition disposition) {
  reply_ = std::move(reply);
  answered_ = true;
  parts_.wire_log.update(facts_.request, [&](WireEntry& e) { e.disposition = disposition; });
}

void RequestLife::fail() {
  refuse(faults::error_reply(500, "internal_error", "the ledger cannot be used"),
         Disposition::failed);
}

void RequestLife::leave_key() {
  if (holds_key_) parts_.gate.leave(reading_.key);
  holds_key_ = false;
}

void RequestLife::perform() {
  if (reading_.route == "create") {
    create();
  } else {
    look_up();
  }
}

void RequestLife::create() {
  const auto stored_as = [&](const faults::HttpReply& reply) -> std::optional<StoredKey> {
    if (!holds_key_) return std::nullopt;
    return StoredKey{reading_.key, fingerprint_, reply.status, reply.body, received_at_};
  };
  if (reading_.declined) {
    if (auto stored = parts_.ledger.store_key(*stored_as(*reading_.declined)); !stored)
      return fail();
    return refuse(std::move(*reading_.declined), Disposition::rejected);
  }
  Effect effect;
  effect.service = parts_.service.name();
  effect.business_ref = reading_.business_ref;
  effect.key = reading_.key;
  effect.reference = reading_.reference;
  effect.params = reading_.params;
  effect.request = facts_.request;
  const auto committed = parts_.ledger.commit(std::move(effect), [&](const Effect& made) {
    reply_ = parts_.service.created(made);
    return stored_as(reply_);
  });
  if (!committed) return fail();
  parts_.wire_log.update(facts_.request, [&](WireEntry& e) {
    e.disposition = Disposition::created;
    e.committed_at = committed->committed_at;
    e.effect_id = committed->id;
  });
}

void RequestLife::look_up() {
  const bool item = reading_.route == "get";
  auto found = item                           ? parts_.ledger.find_by_id(reading_.id)
               : reading_.by == LookupBy::key ? parts_.ledger.find_by_key(reading_.key)
                                              : parts_.ledger.find_by_reference(reading_.reference);
  if (!found) return fail();
  const auto now = parts_.clock.monotonic();
  std::erase_if(*found, [&](const Effect& effect) {
    return now < effect.committed_at + parts_.profile.index_delay;
  });
  if (found->empty() && item) {
    return refuse(faults::error_reply(404, "not_found", "there is no such payment"),
                  Disposition::not_found);
  }
  refuse(item ? parts_.service.one(found->front()) : parts_.service.list(*found),
         found->empty() ? Disposition::not_found : Disposition::found);
  if (found->empty()) return;
  parts_.wire_log.update(facts_.request, [&](WireEntry& e) { e.effect_id = found->front().id; });
}

std::optional<faults::Firing> RequestLife::visit(faults::Point point) {
  auto firing = parts_.faults.visit(point, facts_);
  if (firing) {
    parts_.wire_log.update(facts_.request, [&](WireEntry& e) {
      if (e.fault.empty()) e.fault = firing->fault;
    });
  }
  return firing;
}

// What a fault makes of the request; nullopt: it goes on.
std::optional<faults::Decision> RequestLife::strike(faults::Point point) {
  auto firing = visit(point);
  if (!firing) return std::nullopt;
  struck_ = true;
  faults::Decision decision;
  switch (firing->action.kind) {
    case faults::ActionKind::delay:
      if (parts_.clock.wait_for(firing->action.duration, stop_)) return std::nullopt;
      decision.ending = faults::Ending::close;  // the fake stops
      return decision;
    case faults::ActionKind::status:
      return answer({.status = firing->action.status,
                     .body = std::move(firing->action.body),
                     .content_type = std::move(firing->action.content_type)},
                    false);
    case faults::ActionKind::kill:
      if (parts_.kill_worker && !facts_.worker.empty()) parts_.kill_worker(facts_.worker);
      [[fallthrough]];
    case faults::ActionKind::close:
      decision.ending = faults::Ending::close;
      return decision;
    case faults::ActionKind::reset:
      decision.ending = faults::Ending::reset;
      return decision;
    case faults::ActionKind::hang:
      decision.ending = faults::Ending::hang;
      return decision;
  }
  return decision;
}

// `truth`: the reply is the fake's own, not a fault's. The callbacks outlive this object; the parts
// outlive them.
faults::Decision RequestLife::answer(faults::HttpReply reply, bool truth) {
  faults::Decision decision;
  decision.before_last_byte = [&parts = parts_, facts = facts_, truth, status = reply.status] {
    const auto now = parts.clock.monotonic();
    const auto firing = parts.faults.visit(faults::Point::response_sent, facts);
    parts.wire_log.update(facts.request, [&](WireEntry& e) {
      e.status = status;
      e.responded_at = now;
      e.delivered = truth;
      if (firing && e.fault.empty()) e.fault = firing->fault;
    });
    faults::AfterReply after;
    if (!firing) return after;
    after.ending = firing->action.kind == faults::ActionKind::reset ? faults::Ending::reset
                                                                    : faults::Ending::close;
    if (firing->action.kind == faults::ActionKind::kill && parts.kill_worker &&
        !facts.worker.empty()) {
      after.action = [&parts, worker = facts.worker] { parts.kill_worker(worker); };
    }
    return after;
  };
  decision.on_broken = [&parts = parts_, request = facts_.request](std::size_t) {
    parts.wire_log.update(request, [](WireEntry& e) {
      e.responded_at.reset();
      e.delivered = false;
    });
  };
  decision.reply = std::move(reply);
  return decision;
}

}  // namespace

Result<KeyGate::Entry> KeyGate::enter(const std::string& key, const std::string& fingerprint,
                                      Ledger& ledger, Milliseconds window, MonotonicTime now) {
  auto in_flight = in_flight_.lock();
  if (const auto first = in_flight->find(key); first != in_flight->end()) {
    if (first->second != fingerprint) return Entry{Mismatch{}};
    return Entry{InFlight{}};
  }
  auto stored = ledger.find_key(key);
  if (!stored) return tl::unexpected(stored.error());
  if (*stored && now < (*stored)->first_seen_at + window) {
    if ((*stored)->fingerprint != fingerprint) return Entry{Mismatch{}};
    return Entry{std::move(**stored)};
  }
  (*in_flight)[key] = fingerprint;
  return Entry{Fresh{}};
}

void KeyGate::leave(const std::string& key) {
  in_flight_.lock()->erase(key);
}

faults::Decision serve_request(FakeParts& parts, const faults::HttpRequest& request,
                               std::stop_token stop) {
  return RequestLife(parts, request, std::move(stop)).run();
}

void log_refused(FakeParts& parts, const faults::HttpRequest& request, int status) {
  WireEntry entry;
  entry.connection = request.connection;
  entry.service = parts.service.name();
  entry.route = "other";
  entry.method = request.method;
  entry.target = request.target;
  entry.headers = request.headers;
  entry.received_at = parts.clock.monotonic();
  entry.status = status;
  entry.disposition = Disposition::rejected;
  parts.wire_log.add(std::move(entry));
}

}  // namespace onceproof::fakes
