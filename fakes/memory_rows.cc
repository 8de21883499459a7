// The rows of a ledger that ends with its process. As what SQLite keeps ":memory:", but without its
// price: a fake that takes no longer than a trivial handler can be struck at full speed.
#include <array>
#include <unordered_map>

#include "fakes/ledger_rows.h"

namespace onceproof::fakes {
namespace {

class MemoryRows final : public LedgerRows {
 public:
  Result<void> begin() override {
    effects_before_ = effects_.size();
    key_before_.reset();
    return {};
  }
  Result<void> commit() override { return {}; }
  void roll_back() override;

  Result<void> insert(Effect& effect) override;
  Result<std::vector<Effect>> select(const Query& query) override;
  Result<std::vector<Effect>> all() override { return effects_; }
  Result<std::uint64_t> count() override { return effects_.size(); }

  Result<void> put_key(const StoredKey& stored) override;
  Result<std::optional<StoredKey>> find_key(std::string_view key) override;
  Result<void> forget_key(std::string_view key) override;
  Result<void> clear() override;

 private:
  // Places in effects_, ascending.
  using Index = std::unordered_map<std::string, std::vector<std::size_t>>;
  static constexpr std::array kIndexed{FindBy::key, FindBy::reference, FindBy::parent,
                                       FindBy::business_ref};
  static const std::string& column(const Effect& effect, FindBy by);
  Index& index(FindBy by) { return indices_[static_cast<std::size_t>(by)]; }
  std::vector<std::size_t> places(const Query& query);

  std::vector<Effect> effects_;
  std::array<Index, kIndexed.size() + 1> indices_;  // by FindBy; that of the ids stays empty
  std::unordered_map<std::string, StoredKey> keys_;
  // What roll_back() needs: how many effects there were, and the key put since, with what it was.
  std::size_t effects_before_ = 0;
  std::optional<std::pair<std::string, std::optional<StoredKey>>> key_before_;
};

const std::string& MemoryRows::column(const Effect& effect, FindBy by) {
  switch (by) {
    case FindBy::key:
      return effect.key;
    case FindBy::reference:
      return effect.reference;
    case FindBy::parent:
      return effect.parent;
    case FindBy::business_ref:
      return effect.business_ref;
    case FindBy::id:
      break;
  }
  return effect.id;
}

void MemoryRows::roll_back() {
  for (; effects_.size() > effects_before_; effects_.pop_back()) {
    for (const auto by : kIndexed) {
      const auto found = index(by).find(column(effects_.back(), by));
      if (found == index(by).end()) continue;
      found->second.pop_back();
      if (found->second.empty()) index(by).erase(found);
    }
  }
  if (!key_before_) return;
  auto& [key, before] = *key_before_;
  if (before) {
    keys_[key] = std::move(*before);
  } else {
    keys_.erase(key);
  }
  key_before_.reset();
}

Result<void> MemoryRows::insert(Effect& effect) {
  effect.id = effect_id(effect.kind, static_cast<std::int64_t>(effects_.size()) + 1);
  for (const auto by : kIndexed) {
    const auto& value = column(effect, by);
    if (!value.empty()) index(by)[value].push_back(effects_.size());
  }
  effects_.push_back(effect);
  return {};
}

std::vector<std::size_t> MemoryRows::places(const Query& query) {
  if (query.value.empty()) return {};
  if (query.by == FindBy::id) {
    const auto number = number_in(query.value);
    if (number < 1 || static_cast<std::uint64_t>(number) > effects_.size()) return {};
    return {static_cast<std::size_t>(number) - 1};
  }
  const auto found = index(query.by).find(query.value);
  return found == index(query.by).end() ? std::vector<std::size_t>() : found->second;
}

Result<std::vector<Effect>> MemoryRows::select(const Query& query) {
  std::vector<Effect> found;
  for (const auto place : places(query)) {
    const Effect& effect = effects_[place];
    if (!query.kind.empty() && effect.kind != query.kind) continue;
    if (column(effect, query.by) == query.value) found.push_back(effect);
  }
  return found;
}

Result<void> MemoryRows::put_key(const StoredKey& stored) {
  const auto [place, fresh] = keys_.try_emplace(stored.key);
  key_before_ = {stored.key, fresh ? std::nullopt : std::optional(std::move(place->second))};
  place->second = stored;
  return {};
}

Result<std::optional<StoredKey>> MemoryRows::find_key(std::string_view key) {
  const auto found = keys_.find(std::string(key));
  if (found == keys_.end()) return std::optional<StoredKey>();
  return std::optional(found->second);
}

Result<void> MemoryRows::forget_key(std::string_view key) {
  keys_.erase(std::string(key));
  return {};
}

Result<void> MemoryRows::clear() {
  effects_.clear();
  for (auto& index : indices_) index.clear();
  keys_.clear();
  return {};
}

}  // namespace

std::unique_ptr<LedgerRows> make_memory_rows() {
  return std::make_unique<MemoryRows>();
}

}  // namespace onceproof::fakes
