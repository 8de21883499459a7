// The fake payment provider's API, as docs/sut-protocol.md describes it.
#pragma once

#include "fakes/service.h"

namespace onceproof::fakes {

class Payments final : public Service {
 public:
  std::string_view name() const override { return "payments"; }
  Reading read(const faults::HttpRequest& request, std::string_view path,
               const Profile& profile) const override;
  faults::HttpReply created(const Effect& effect) const override;
  faults::HttpReply one(const Effect& effect) const override;
  faults::HttpReply list(const std::vector<Effect>& effects) const override;
};

}  // namespace onceproof::fakes
