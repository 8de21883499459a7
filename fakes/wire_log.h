// Every request as the fake received it and what became of it: the judge's eyewitness.
// Invariant: entries are numbered from 1 in the order in which their last byte arrived, and never removed while a cell runs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/json.h"

namespace onceproof::fakes {

// What the service did, in its own words; independent of whether the client ever heard it.
enum class Disposition {
  pending,     // received; nothing decided yet (in flight, or struck before the commit)
  created,     // a new effect
  replayed,    // a known key: the stored answer was repeated, no new effect
  rejected,    // refused with proof of no effect (400, 402, 422 validation)
  mismatch,    // a known key with another payload; refused
  in_flight,   // a known key whose first request has not ended; refused
  found,       // a lookup that lists at least one effect
  not_found,   // a lookup that lists none
  failed,      // the fake itself could not serve it (a bug or a full disk)
};

struct WireEntry {
  std::uint64_t number = 0;
  std::uint64_t connection = 0;  // from 1, in order of accept
  std::string worker;            // from the URL prefix the worker was given; empty: none
  std::string service;           // "payments"
  std::string route;             // "create", "get", "lookup", "other"
  std::string method;
  std::string target;            // path and query as received
  std::map<std::string, std::string> headers;  // lower-case names; repeated headers joined by ", "
  std::string body;              // at most 64 KiB
  std::string body_sha256;
  std::string business_ref;      // empty: none
  std::string key;               // as it travelled (the header); empty: none
  std::string reference;         // the reference field of a create, or the reference or key that a lookup asks for
  Json params;                   // the body parsed, null if it is not JSON
  MonotonicTime received_at;
  std::optional<MonotonicTime> committed_at;   // created only
  std::optional<MonotonicTime> responded_at;   // the last byte was handed to the socket
  int status = 0;                // sent to the client; 0: no status line was sent
  Disposition disposition = Disposition::pending;
  bool delivered = false;        // the fake's true answer was written whole: no fault replaced or cut it
  std::string fault;             // name of the fault that struck; empty: none
  std::string effect_id;         // created, replayed, found (the first)
};

std::string_view to_text(Disposition disposition);
Json to_json(const WireEntry& entry, MonotonicTime start);  // times as ms since `start`

class WireLog {
 public:
  // Adds an entry and returns its number.
  std::uint64_t add(WireEntry entry);
  // Changes one entry under the lock.
  template <typename Change>
  void update(std::uint64_t number, Change&& change) {
    auto entries = entries_.lock();
    change((*entries)[number - 1]);
  }
  std::vector<WireEntry> entries() const;
  std::size_t size() const;
  void clear();

 private:
  mutable Guarded<std::vector<WireEntry>> entries_;
};

}  // namespace onceproof::fakes
