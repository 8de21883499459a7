// What a provider lets be seen of its ledger, by its profile: an index that lags, pages.
#pragma once

#include <vector>

#include "fakes/service.h"

namespace onceproof::fakes {

struct Page {
  std::vector<Found> found;
  bool has_more = false;
};

// Errors: those of the ledger.
Result<Page> look_up(const Query& query, const Profile& profile, Ledger& ledger, MonotonicTime now);

}  // namespace onceproof::fakes
