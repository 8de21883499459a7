// What one provider's API says: which route a request is, whether its body is valid, what replies
// look like. The life of a request (keys, faults, commit) is request_life.h, for all services.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "fakes/ledger.h"
#include "fakes/profile.h"
#include "faults/http.h"

namespace onceproof::fakes {

// What an admitted request does to the ledger.
enum class Work { none, write, read };

// A request as the service understands it.
struct Reading {
  std::string route;  // "create", "get", "lookup", "other", ...: as faults and logs name it
  Work work = Work::none;
  std::string business_ref;  // write: what the effect is about
  std::string key;           // the key as it travelled, or the one that is asked for; empty: none
  std::string reference;     // write: the reference field; a lookup by reference: what is asked for
  Query query;               // read
  bool one = false;          // read: one effect, whose absence is a 404; else a list
  Json params;               // the body parsed; null if it is not JSON
  // Refused before anything is done: it says nothing and costs nothing.
  std::optional<faults::HttpReply> refusal;
  // Refused by the business (a declined card): an answer like any other, and kept for its key.
  std::optional<faults::HttpReply> declined;
};

// What a write comes to in view of what is committed: effects, of which the request's number, key
// and service are filled in later; or none, and the answer that says why.
struct Plan {
  std::vector<Effect> effects;
  std::optional<faults::HttpReply> reply;  // if there are no effects
};

// An effect, and those that changed it since (refunds, a cancel), oldest first.
struct Found {
  Effect effect;
  std::vector<Effect> changes;
};

enum class KeyProblem { mismatch, in_flight };

class Service {
 public:
  virtual ~Service() = default;
  virtual std::string_view name() const = 0;
  // `path` is the request's, without the worker's prefix.
  virtual Reading read(const faults::HttpRequest& request, std::string_view path,
                       const Profile& profile) const = 0;
  // Inside the ledger's transaction.
  virtual Result<Plan> plan(const Reading& reading, Ledger::View& past) const = 0;
  // The replies. `made` is not empty.
  virtual faults::HttpReply made(const Reading& reading, const std::vector<Effect>& made) const = 0;
  virtual faults::HttpReply one(const Reading& reading, const Found& found) const = 0;
  virtual faults::HttpReply list(const Reading& reading, const std::vector<Found>& found,
                                 bool has_more) const = 0;
  virtual faults::HttpReply missing(const Reading& reading) const = 0;
  virtual faults::HttpReply refuse_key(const Reading& reading, KeyProblem problem) const;
};

// Errors: invalid_argument, listing the services.
Result<std::unique_ptr<Service>> make_service(std::string_view name);

}  // namespace onceproof::fakes
