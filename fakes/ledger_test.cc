#include "fakes/ledger.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace onceproof::fakes {
namespace {

Effect payment(const std::string& order, const std::string& key = "") {
  Effect effect;
  effect.service = "payments";
  effect.business_ref = order;
  effect.key = key;
  effect.reference = key;
  effect.params = Json{{"order_id", order}};
  effect.request = 3;
  return effect;
}

std::optional<StoredKey> no_key(const Effect&) {
  return std::nullopt;
}

TEST(LedgerTest, IdsAreGivenInOrderAndFoundAgain) {
  VirtualClock clock;
  const auto ledger = Ledger::open(":memory:", Durability::fast, clock);
  ASSERT_TRUE(ledger.has_value());
  EXPECT_EQ((*ledger)->commit(payment("817", "k1"), no_key)->id, "pay_000001");
  EXPECT_EQ((*ledger)->commit(payment("818", "k2"), no_key)->id, "pay_000002");
  EXPECT_EQ((*ledger)->find_by_id("pay_000002")->at(0).business_ref, "818");
  EXPECT_EQ((*ledger)->find_by_key("k1")->at(0).id, "pay_000001");
  EXPECT_EQ((*ledger)->find_by_reference("k2")->size(), 1U);
  EXPECT_TRUE((*ledger)->find_by_reference("k3")->empty());
  EXPECT_TRUE((*ledger)->find_by_key("")->empty()) << "no key is no key";
  ASSERT_TRUE((*ledger)->clear().has_value());
  EXPECT_EQ((*ledger)->commit(payment("819"), no_key)->id, "pay_000001");
}

TEST(LedgerTest, AnEffectAndItsStoredAnswerSurviveTheProcess) {
  VirtualClock clock;
  const auto folder = TempDir::make("onceproof-ledger");
  ASSERT_TRUE(folder.has_value());
  const auto path = folder->path() / "ledger.db";
  clock.advance(std::chrono::seconds{5});
  {
    const auto ledger = Ledger::open(path, Durability::full, clock);
    ASSERT_TRUE(ledger.has_value());
    const auto stored = (*ledger)->commit(payment("817", "k1"), [&](const Effect& made) {
      return std::optional(
          StoredKey{"k1", "f", 201, "{\"id\":\"" + made.id + "\"}", clock.monotonic()});
    });
    ASSERT_TRUE(stored.has_value()) << stored.error().message;
  }
  VirtualClock later;  // another process: its monotonic clock begins anew
  later.advance(std::chrono::seconds{8});
  const auto ledger = Ledger::open(path, Durability::full, later);
  ASSERT_TRUE(ledger.has_value());
  const auto effects = (*ledger)->effects();
  ASSERT_TRUE(effects.has_value());
  ASSERT_EQ(effects->size(), 1U);
  EXPECT_EQ(effects->at(0).params, (Json{{"order_id", "817"}}));
  EXPECT_EQ(later.monotonic() - effects->at(0).committed_at, std::chrono::seconds{3});
  const auto key = (*ledger)->find_key("k1");
  ASSERT_TRUE(key.has_value() && key->has_value());
  EXPECT_EQ((*key)->body, R"({"id":"pay_000001"})");
  EXPECT_EQ((*key)->status, 201);
}

}  // namespace
}  // namespace onceproof::fakes
