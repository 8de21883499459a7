#include "fakes/request_life.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/digest.h"
#include "base/text.h"
#include "fakes/lookup.h"
#include "fakes/request_faults.h"

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

std::vector<std::string> ids_of(const std::vector<Effect>& effects) {
  std::vector<std::string> ids;
  for (const auto& effect : effects) ids.push_back(effect.id);
  return ids;
}

// What a fault lets a lookup not see.
void hide(const faults::Action& fault, Page& page, MonotonicTime now) {
  switch (fault.kind) {
    case faults::ActionKind::not_found:
      page = {};
      break;
    case faults::ActionKind::stale:
      std::erase_if(page.found, [&](const Found& found) {
        return found.effect.committed_at > now - fault.duration;
      });
      break;
    case faults::ActionKind::truncated_page:
      if (page.found.size() > fault.count) {
        page.found.resize(fault.count);
        page.has_more = true;
      }
      break;
    default:
      break;
  }
}

class RequestLife : public std::enable_shared_from_this<RequestLife> {
 public:
  RequestLife(FakeParts& parts, const faults::HttpRequest& request, std::stop_token stop)
      : parts_(parts),
        request_(request),
        stop_(stop),
        faults_(parts, std::move(stop)),
        received_at_(parts.clock.monotonic()) {}
  ~RequestLife() { leave_key(); }

  faults::Decision run();

 private:
  void read();
  void know_business_ref();
  void admit();
  void enter_key();
  void write();
  std::optional<faults::Decision> commit_later();
  void look_up();
  void refuse(faults::HttpReply reply, Disposition disposition);
  void fail();
  void leave_key();
  void note_service_time();

  FakeParts& parts_;
  const faults::HttpRequest& request_;
  const std::stop_token stop_;
  RequestFaults faults_;
  MonotonicTime received_at_;
  Reading reading_;
  std::uint64_t number_ = 0;  // in the wire log
  std::string fingerprint_;
  bool holds_key_ = false;
  bool answered_ = false;  // reply_ is decided before anything is performed
  faults::HttpReply reply_;
};

faults::Decision RequestLife::run() {
  read();
  admit();
  if (auto decision = faults_.strike(faults::Point::request_received)) return std::move(*decision);
  if (!answered_ && reading_.work != Work::none) {
    if (auto decision = faults_.strike(faults::Point::before_commit)) return std::move(*decision);
    if (auto decision = commit_later()) return std::move(*decision);
  }
  if (!answered_ && reading_.work == Work::write) write();
  if (!answered_ && reading_.work == Work::read) look_up();
  leave_key();
  if (!faults_.struck()) note_service_time();
  if (auto decision = faults_.strike(faults::Point::after_commit, &reply_)) {
    return std::move(*decision);
  }
  return faults_.answer(std::move(reply_), !faults_.instead());
}

// What the fault commit_later makes of this write; nullopt: there is none. The commit is made by
// the connection's own thread, while its client waits or after it has its answer; if the fake stops
// before, it is never made. The key stays in flight until then.
std::optional<faults::Decision> RequestLife::commit_later() {
  const auto& instead = faults_.instead();
  if (!instead || instead->kind != faults::ActionKind::commit_later) return std::nullopt;
  const auto commit = [life = shared_from_this(), after = instead->duration] {
    if (life->parts_.clock.wait_for(after, life->stop_)) life->write();
    life->leave_key();
  };
  faults::Decision decision;
  if (instead->status == 0) {
    commit();
    decision.ending = faults::Ending::hang;
    return decision;
  }
  decision = faults_.answer(
      faults::error_reply(instead->status, "unknown", "it is not known what became of this"),
      false);
  decision.before_last_byte = [say = std::move(decision.before_last_byte), commit] {
    faults::AfterReply after = say();
    if (after.ending == faults::Ending::answer) after.ending = faults::Ending::close;
    after.action = [also = std::move(after.action), commit] {
      if (also) also();
      commit();
    };
    return after;
  };
  decision.on_broken = [say = std::move(decision.on_broken), commit](std::size_t bytes) {
    say(bytes);
    commit();
  };
  return decision;
}

void RequestLife::note_service_time() {
  const auto took =
      std::chrono::duration_cast<Milliseconds>(parts_.clock.monotonic() - received_at_);
  std::int64_t longest = parts_.longest_service_ms;
  while (took.count() > longest &&
         !parts_.longest_service_ms.compare_exchange_weak(longest, took.count())) {
  }
}

void RequestLife::read() {
  const auto [worker, path] = split_worker(request_.path);
  reading_ = parts_.service.read(request_, path, parts_.profile);
  know_business_ref();
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
  number_ = parts_.wire_log.add(std::move(entry));
  faults_.facts = {
      .service = std::string(parts_.service.name()),
      .route = reading_.route,
      .business_ref = reading_.business_ref,
      .key = reading_.key,
      .worker = worker,
      .reads = reading_.work == Work::read,
      .writes = reading_.work == Work::write,
      .keyed = reading_.work == Work::write && parts_.profile.key_dedup && !reading_.key.empty(),
      .request = number_};
  faults_.target = request_.target;
}

// A write says what it is about; a read is about what its key or reference was used for.
void RequestLife::know_business_ref() {
  if (reading_.work == Work::write) {
    auto refs = parts_.known_refs.lock();
    if (refs->size() > kMaxKnownRefs) refs->clear();
    for (const auto& name : {reading_.key, reading_.reference}) {
      if (!name.empty()) (*refs)[name] = reading_.business_ref;
    }
  } else if (reading_.query.by == FindBy::id) {
    const auto effects = parts_.ledger.find(reading_.query);
    if (effects && !effects->empty()) reading_.business_ref = effects->front().business_ref;
  } else {
    auto refs = parts_.known_refs.lock();
    if (const auto known = refs->find(reading_.query.value); known != refs->end()) {
      reading_.business_ref = known->second;
    }
  }
}

void RequestLife::admit() {
  if (reading_.refusal) {
    // A refused lookup proves nothing; a refused create proves that nothing was created.
    refuse(std::move(*reading_.refusal), Disposition::rejected);
  } else if (reading_.work == Work::write && parts_.profile.key_dedup && !reading_.key.empty()) {
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
    refuse(parts_.service.refuse_key(reading_, KeyProblem::mismatch), Disposition::mismatch);
  } else if (std::holds_alternative<KeyGate::InFlight>(*entered)) {
    refuse(parts_.service.refuse_key(reading_, KeyProblem::in_flight), Disposition::in_flight);
  } else if (const auto* stored = std::get_if<StoredKey>(&*entered)) {
    refuse({.status = stored->status,
            .body = stored->body,
            .headers = {{"Idempotent-Replayed", "true"}}},
           Disposition::replayed);
    if (const auto effects =
            parts_.ledger.find({.kind = "", .by = FindBy::key, .value = reading_.key})) {
      parts_.wire_log.update(number_, [&](WireEntry& e) { e.effect_ids = ids_of(*effects); });
    }
  } else {
    holds_key_ = true;
  }
}

void RequestLife::refuse(faults::HttpReply reply, Disposition disposition) {
  reply_ = std::move(reply);
  answered_ = true;
  parts_.wire_log.update(number_, [&](WireEntry& e) { e.disposition = disposition; });
}

void RequestLife::fail() {
  refuse(faults::error_reply(500, "internal_error", "the ledger cannot be used"),
         Disposition::failed);
}

void RequestLife::leave_key() {
  if (holds_key_ && !faults_.leaves_mark()) parts_.gate.leave(reading_.key);
  holds_key_ = false;
}

void RequestLife::write() {
  const auto& instead = faults_.instead();
  const bool partial = instead && instead->kind == faults::ActionKind::partial;
  const auto stored_as = [&](const faults::HttpReply& reply) -> std::optional<StoredKey> {
    if (!holds_key_ || partial) return std::nullopt;  // broken off before the key was kept
    return StoredKey{reading_.key, fingerprint_, reply.status, reply.body, received_at_};
  };
  if (instead && instead->kind == faults::ActionKind::keep_error) {
    reading_.declined = faults::HttpReply{.status = instead->status, .body = instead->body};
  }
  if (reading_.declined && !partial) {
    if (auto stored = parts_.ledger.store_key(*stored_as(*reading_.declined)); !stored) {
      return fail();
    }
    return refuse(std::move(*reading_.declined), Disposition::rejected);
  }
  const auto plan = [&](Ledger::View& past) -> Result<std::vector<Effect>> {
    auto planned = parts_.service.plan(reading_, past);
    if (!planned) return tl::unexpected(planned.error());
    if (planned->reply) reply_ = std::move(*planned->reply);
    if (partial && planned->effects.size() > instead->count) {
      planned->effects.resize(instead->count);
    }
    for (auto& effect : planned->effects) {
      effect.service = parts_.service.name();
      effect.key = reading_.key;
      effect.request = number_;
    }
    return std::move(planned->effects);
  };
  const auto committed = parts_.ledger.commit(plan, [&](const std::vector<Effect>& made) {
    if (!made.empty()) reply_ = parts_.service.made(reading_, made);
    return stored_as(reply_);
  });
  if (!committed) return fail();
  parts_.wire_log.update(number_, [&](WireEntry& e) {
    e.disposition = committed->empty() ? Disposition::rejected : Disposition::created;
    e.effect_ids = ids_of(*committed);
    if (!committed->empty()) e.committed_at = committed->back().committed_at;
  });
  if (partial) {
    reply_ = faults::error_reply(instead->status, "broken_off", "not all of it was done");
  }
}

void RequestLife::look_up() {
  auto page =
      fakes::look_up(reading_.query, parts_.profile, parts_.ledger, parts_.clock.monotonic());
  if (!page) return fail();
  if (const auto& instead = faults_.instead()) hide(*instead, *page, parts_.clock.monotonic());
  const bool none = page->found.empty();
  refuse(!reading_.one ? parts_.service.list(reading_, page->found, page->has_more)
         : none        ? parts_.service.missing(reading_)
                       : parts_.service.one(reading_, page->found.front()),
         none ? Disposition::not_found : Disposition::found);
  parts_.wire_log.update(number_, [&](WireEntry& e) {
    for (const auto& found : page->found) e.effect_ids.push_back(found.effect.id);
  });
}

}  // namespace

faults::Decision serve_request(FakeParts& parts, const faults::HttpRequest& request,
                               std::stop_token stop) {
  return std::make_shared<RequestLife>(parts, request, std::move(stop))->run();
}

faults::Ending meet_connection(FakeParts& parts, std::uint64_t connection, std::stop_token stop) {
  faults::RequestFacts facts;
  facts.service = parts.service.name();
  facts.route = "connect";
  const auto firing =
      parts.faults.visit(faults::Point::connect, facts, [&](const std::string& fault) {
        WireEntry entry;
        entry.connection = connection;
        entry.service = facts.service;
        entry.route = facts.route;
        entry.received_at = parts.clock.monotonic();
        entry.fault = fault;
        return parts.wire_log.add(std::move(entry));
      });
  if (!firing) return faults::Ending::answer;
  switch (firing->action.kind) {
    case faults::ActionKind::delay:
      return parts.clock.wait_for(firing->action.duration, stop) ? faults::Ending::answer
                                                                 : faults::Ending::close;
    case faults::ActionKind::reset:
      return faults::Ending::reset;
    case faults::ActionKind::hang:
      return faults::Ending::hang;
    default:
      return faults::Ending::close;
  }
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
