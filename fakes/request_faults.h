// The faults that meet one request at its points, and how its exchange ends.
// Invariant: every strike is in the engine's records and in the request's entry of the wire log.
#pragma once

#include <optional>
#include <stop_token>

#include "fakes/fake_parts.h"

namespace onceproof::fakes {

class RequestFaults {
 public:
  RequestFaults(FakeParts& parts, std::stop_token stop) : parts_(parts), stop_(std::move(stop)) {}

  // Of the request, as soon as they are known; before the first strike.
  faults::RequestFacts facts;
  std::string target;  // for a redirect to itself

  // What a fault makes of the request here; nullopt: it goes on. Blocks as long as a delay says.
  // `truth`: the true reply, if there is one already; taken if a fault has a use for it.
  std::optional<faults::Decision> strike(faults::Point point, faults::HttpReply* truth = nullptr);
  // What the last strike would have done otherwise in the commit or the lookup that comes next.
  const std::optional<faults::Action>& instead() const { return instead_; }
  // `truth`: the reply is the fake's own, not a fault's. What it returns outlives this object, not
  // the parts.
  faults::Decision answer(faults::HttpReply reply, bool truth);
  // The key's mark must stay in flight when the request is over.
  bool leaves_mark() const { return leaves_mark_; }
  bool struck() const { return struck_; }

 private:
  std::optional<faults::Firing> visit(faults::Point point);
  faults::Decision written(const faults::Action& action, faults::HttpReply truth);

  FakeParts& parts_;
  const std::stop_token stop_;
  bool struck_ = false;
  bool leaves_mark_ = false;
  std::optional<faults::Action> instead_;
};

}  // namespace onceproof::fakes
