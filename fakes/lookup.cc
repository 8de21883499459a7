#include "fakes/lookup.h"

namespace onceproof::fakes {

Result<Page> look_up(const Query& query, const Profile& profile, Ledger& ledger,
                     MonotonicTime now) {
  auto effects = ledger.find(query);
  if (!effects) return tl::unexpected(effects.error());
  Page page;
  for (auto& effect : *effects) {
    if (now < effect.committed_at + profile.index_delay) continue;
    auto changes = ledger.find({.kind = "", .by = FindBy::parent, .value = effect.id});
    if (!changes) return tl::unexpected(changes.error());
    page.found.push_back({.effect = std::move(effect), .changes = std::move(*changes)});
  }
  return page;
}

}  // namespace onceproof::fakes
