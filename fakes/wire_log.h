// Every request as the fake received it and what became of it: the judge's eyewitness.
// Invariant: entries are numbered from 1 in the order in which their last byte arrived, without
// gaps.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/json.h"
#include "fakes/tally.h"

namespace onceproof::fakes {

// What the service did, in its own words; independent of whether the client ever heard it.
enum class Disposition {
  pending,    // received; nothing decided yet (in flight, or struck before the commit)
  created,    // a new effect
  replayed,   // a known key: the stored answer was repeated, no new effect
  rejected,   // refused with proof of no effect (400, 402, 422 validation)
  mismatch,   // a known key with another payload; refused
  in_flight,  // a known key whose first request has not ended; refused
  found,      // a lookup that lists at least one effect
  not_found,  // a lookup that lists none
  failed,     // the fake itself could not serve it (a bug or a full disk)
};

struct WireEntry {
  std::uint64_t number = 0;
  std::uint64_t connection = 0;  // from 1, in order of accept
  std::string worker;            // from the URL prefix the worker was given; empty: none
  std::string service;           // "payments"
  std::string route;             // "create", "get", "lookup", "other"
  std::string method;
  std::string target;                          // path and query as received
  std::map<std::string, std::string> headers;  // lower-case names; repeated headers joined by ", "
  std::string body;                            // at most 64 KiB
  std::string body_sha256;
  std::string business_ref;  // empty: none
  std::string key;           // as it travelled (the header); empty: none
  std::string
      reference;  // the reference field of a create, or the reference or key that a lookup asks for
  Json params;    // the body parsed, null if it is not JSON
  MonotonicTime received_at;
  std::optional<MonotonicTime> committed_at;  // created only
  std::optional<MonotonicTime> responded_at;  // the last byte was handed to the socket
  int status = 0;                             // sent to the client; 0: no status line was sent
  Disposition disposition = Disposition::pending;
  bool delivered = false;  // the fake's true answer was written whole: no fault replaced or cut it
  std::string fault;       // name of the fault that struck; empty: none
  std::vector<std::string> effect_ids;  // created, replayed, found
  int upstream_status = 0;              // a fault proxy's: what its upstream answered; 0: nothing
  std::string note;                     // a fault proxy's: what else is worth saying
};

std::string_view to_text(Disposition disposition);
std::optional<Disposition> parse_disposition(std::string_view text);
Json to_json(const WireEntry& entry, MonotonicTime start);  // times as ms since `start`

class WireLog {
 public:
  // A cell never comes near it; a fake that is left running forgets its oldest entries.
  static constexpr std::size_t kKept = 100'000;

  // Adds an entry and returns its number.
  std::uint64_t add(WireEntry entry);
  // Changes one entry under the lock; one that is no longer kept is left alone.
  template <typename Change>
  void update(std::uint64_t number, Change&& change) {
    auto state = state_.lock();
    const auto first = state->added - state->entries.size() + 1;
    if (number >= first && number <= state->added) change(state->entries[number - first]);
  }
  // Oldest first; at most `limit` of those whose number is greater than `after`.
  std::vector<WireEntry> entries(std::uint64_t after = 0, std::size_t limit = kKept) const;
  // The same of those that are `wanted`, which is called under the lock.
  std::vector<WireEntry> entries(std::uint64_t after, std::size_t limit,
                                 const std::function<bool(const WireEntry&)>& wanted) const;
  // Over all that were ever added since the last clear(), forgotten ones included.
  Tally tally() const;
  // How many were ever added.
  std::uint64_t size() const;
  void clear();

 private:
  struct State {
    std::deque<WireEntry> entries;
    std::uint64_t added = 0;
    Tally forgotten;
  };
  mutable Guarded<State> state_;
};

}  // namespace onceproof::fakes
