// The armed faults of one fake (or one cell), and the log of what they did.
// Invariant: a fault fires for exactly `times` visits, from the nth matching one; each firing is
// logged with its request. Thread-safe: visits from concurrent requests are counted in one order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "faults/fault.h"

namespace onceproof::faults {

// What a point knows of the request that passes it.
struct RequestFacts {
  std::string service;
  std::string route;
  std::string business_ref;   // empty: none
  std::string key;            // empty: none
  std::string worker;         // empty: not known
  std::string tenant;         // empty: the server has one
  bool reads = false;         // it will look something up
  bool writes = false;        // it would have an effect
  bool keyed = false;         // a write whose key the provider remembers
  std::uint64_t request = 0;  // its number in the wire log, from 1
};

struct Firing {
  std::string fault;  // its name
  Point point;
  Action action;  // without its body
  std::uint64_t request;
  MonotonicTime at;
};

struct FaultRecord {
  Fault fault;
  MonotonicTime armed_at;
  std::uint32_t visits = 0;  // matching visits so far
  std::vector<Firing> firings;
  bool released = false;  // healed before it was used up
};

class Engine {
 public:
  explicit Engine(Clock& clock);

  // A fault without a name is called "fault-N" after its place. Returns the name.
  // Errors: invalid_argument (check_fault), already_exists (the name is taken), limit_exceeded
  // (1,000 faults).
  Result<std::string> arm(Fault fault);
  // All of them or, with an error that says which one is wrong, none; no visit comes between.
  Result<std::vector<std::string>> arm(std::vector<Fault> faults);
  // No fault that is armed now fires after this; the records stay. One armed later is live.
  void heal();
  // Forgets one fault and its firings; its name is free again. Errors: not_found.
  Result<void> remove(std::string_view name);
  // Forgets everything.
  void reset();

  // The action to carry out here (with its body), if an armed fault strikes. The first armed fault
  // that matches wins; every matching fault counts the visit.
  std::optional<Firing> visit(Point point, const RequestFacts& facts);
  // The same for what has no number yet: `number` is called if a fault strikes, under the engine's
  // lock, with the fault's name.
  using Number = std::function<std::uint64_t(const std::string& fault)>;
  std::optional<Firing> visit(Point point, const RequestFacts& facts, const Number& number);

  std::vector<FaultRecord> records() const;

 private:
  struct State {
    std::vector<FaultRecord> records;
  };
  Clock& clock_;
  mutable Guarded<State> state_;
};

}  // namespace onceproof::faults
