// What one provider's API says: which route a request is, whether its body is valid, what replies
// look like. Pure: the life of a request (keys, faults, commit) is request_life.h, for all
// services.
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

// A request as the service understands it.
struct Reading {
  std::string route;             // "create", "get", "lookup", "other"
  std::string business_ref;      // create: what the effect is about
  std::string key;               // as it travelled in the header; empty: none
  std::string reference;         // create: the reference field; lookup: what is asked for
  std::string id;                // get: the effect's id
  LookupBy by = LookupBy::none;  // lookup
  Json params;                   // the body parsed; null if it is not JSON
  // Refused before anything is done: it says nothing and costs nothing.
  std::optional<faults::HttpReply> refusal;
  // Refused by the business (a declined card): an answer like any other, and kept for its key.
  std::optional<faults::HttpReply> declined;
};

class Service {
 public:
  virtual ~Service() = default;
  virtual std::string_view name() const = 0;
  // `path` is the request's, without the worker's prefix.
  virtual Reading read(const faults::HttpRequest& request, std::string_view path,
                       const Profile& profile) const = 0;
  virtual faults::HttpReply created(const Effect& effect) const = 0;
  virtual faults::HttpReply one(const Effect& effect) const = 0;
  virtual faults::HttpReply list(const std::vector<Effect>& effects) const = 0;
};

// Errors: invalid_argument, listing the services.
Result<std::unique_ptr<Service>> make_service(std::string_view name);

}  // namespace onceproof::fakes
