#include "fakes/wire_log.h"

#include <algorithm>
#include <array>

namespace onceproof::fakes {
namespace {

constexpr std::array<std::string_view, 9> kDispositions{"pending",  "created",   "replayed",
                                                        "rejected", "mismatch",  "in_flight",
                                                        "found",    "not_found", "failed"};

Json since(const std::optional<MonotonicTime>& time, MonotonicTime start) {
  if (!time) return nullptr;
  return std::chrono::duration<double, std::milli>(*time - start).count();
}

}  // namespace

std::string_view to_text(Disposition disposition) {
  return kDispositions[static_cast<std::size_t>(disposition)];
}

std::optional<Disposition> parse_disposition(std::string_view text) {
  const auto found = std::ranges::find(kDispositions, text);
  if (found == kDispositions.end()) return std::nullopt;
  return static_cast<Disposition>(found - kDispositions.begin());
}

Json to_json(const WireEntry& entry, MonotonicTime start) {
  return {{"number", entry.number},
          {"connection", entry.connection},
          {"worker", entry.worker},
          {"service", entry.service},
          {"route", entry.route},
          {"method", entry.method},
          {"target", entry.target},
          {"headers", entry.headers},
          {"body", entry.body},
          {"body_sha256", entry.body_sha256},
          {"business_ref", entry.business_ref},
          {"key", entry.key},
          {"reference", entry.reference},
          {"received_at_ms", since(entry.received_at, start)},
          {"committed_at_ms", since(entry.committed_at, start)},
          {"responded_at_ms", since(entry.responded_at, start)},
          {"status", entry.status},
          {"disposition", to_text(entry.disposition)},
          {"delivered", entry.delivered},
          {"fault", entry.fault},
          {"effect_ids", entry.effect_ids}};
}

std::uint64_t WireLog::add(WireEntry entry) {
  auto state = state_.lock();
  entry.number = ++state->added;
  state->entries.push_back(std::move(entry));
  if (state->entries.size() > kKept) {
    state->forgotten.add(state->entries.front());
    state->entries.pop_front();
  }
  return state->added;
}

std::vector<WireEntry> WireLog::entries(std::uint64_t after, std::size_t limit) const {
  auto state = state_.lock();
  const auto from =
      std::ranges::find_if(state->entries, [&](const auto& e) { return e.number > after; });
  const auto count =
      std::min<std::size_t>(limit, static_cast<std::size_t>(state->entries.end() - from));
  return {from, from + static_cast<std::ptrdiff_t>(count)};
}

std::vector<WireEntry> WireLog::entries(std::uint64_t after, std::size_t limit,
                                        const std::function<bool(const WireEntry&)>& wanted) const {
  auto state = state_.lock();
  const auto before_first = state->added - state->entries.size();
  std::vector<WireEntry> found;
  for (std::uint64_t number = std::max(after, before_first);
       number < state->added && found.size() < limit; ++number) {
    const WireEntry& entry = state->entries[number - before_first];
    if (wanted(entry)) found.push_back(entry);
  }
  return found;
}

Tally WireLog::tally() const {
  auto state = state_.lock();
  Tally tally = state->forgotten;
  for (const auto& entry : state->entries) tally.add(entry);
  return tally;
}

std::uint64_t WireLog::size() const {
  return state_.lock()->added;
}

void WireLog::clear() {
  auto state = state_.lock();
  state->entries.clear();
  state->added = 0;
  state->forgotten = {};
}

}  // namespace onceproof::fakes
