// The fake payment provider's API, as docs/sut-protocol.md describes it.
#pragma once

#include "fakes/service.h"

namespace onceproof::fakes {

class Payments final : public Service {
 public:
  std::string_view name() const override { return "payments"; }
  Reading read(const faults::HttpRequest& request, std::string_view path,
               const Profile& profile) const override;
  Result<Plan> plan(const Reading& reading, Ledger::View& past) const override;
  faults::HttpReply made(const Reading& reading, const std::vector<Effect>& made) const override;
  faults::HttpReply one(const Reading& reading, const Found& found) const override;
  faults::HttpReply list(const Reading& reading, const std::vector<Found>& found,
                         bool has_more) const override;
  faults::HttpReply missing(const Reading& reading) const override;
};

}  // namespace onceproof::fakes
