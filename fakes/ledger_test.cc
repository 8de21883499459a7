#include "fakes/ledger.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "base/file.h"

namespace onceproof::fakes {
namespace {

Effect payment(const std::string& order, const std::string& key = "") {
  Effect effect;
  effect.service = "payments";
  effect.kind = "payment";
  effect.business_ref = order;
  effect.key = key;
  effect.reference = key;
  effect.params = Json{{"order_id", order}};
  effect.request = 3;
  return effect;
}

std::optional<StoredKey> no_key(const std::vector<Effect>&) {
  return std::nullopt;
}

auto planned(std::vector<Effect> effects) {
  return [effects = std::move(effects)](Ledger::View&) -> Result<std::vector<Effect>> {
    return effects;
  };
}

// The id of the first.
std::string commit(Ledger& ledger, std::vector<Effect> effects) {
  return ledger.commit(planned(std::move(effects)), no_key).value().at(0).id;
}

// What every ledger keeps, wherever its rows are.
class AnyLedgerTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    folder_.emplace(std::move(TempDir::make("onceproof-ledger").value()));
    auto opened = Ledger::open(
        GetParam() ? folder_->path() / "ledger.db" : ":memory:", Durability::fast, clock_);
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    ledger = std::move(opened);
  }
  VirtualClock clock_;
  std::optional<TempDir> folder_;
  Result<std::unique_ptr<Ledger>> ledger;
};
INSTANTIATE_TEST_SUITE_P(Ledgers, AnyLedgerTest, ::testing::Bool(),
                         [](const auto& suite) { return suite.param ? "InAFile" : "InMemory"; });

TEST_P(AnyLedgerTest, IdsAreGivenInOrderAndFoundAgain) {
  EXPECT_EQ(commit(**ledger, {payment("817", "k1")}), "pay_000001");
  EXPECT_EQ(commit(**ledger, {payment("818", "k2")}), "pay_000002");
  EXPECT_EQ((*ledger)->find({"", FindBy::id, "pay_000002"})->at(0).business_ref, "818");
  EXPECT_EQ((*ledger)->find({"payment", FindBy::key, "k1"})->at(0).id, "pay_000001");
  EXPECT_EQ((*ledger)->find({"", FindBy::reference, "k2"})->size(), 1U);
  EXPECT_TRUE((*ledger)->find({"", FindBy::reference, "k3"})->empty());
  EXPECT_TRUE((*ledger)->find({"", FindBy::key, ""})->empty()) << "no key is no key";
  EXPECT_TRUE((*ledger)->find({"refund", FindBy::key, "k1"})->empty());
  for (const auto* id : {"ref_000001", "pay_1", "pay_0000001", "pay_", "1", "_", "pay_000001x"}) {
    EXPECT_TRUE((*ledger)->find({"", FindBy::id, id})->empty()) << id;
  }
  ASSERT_TRUE((*ledger)->clear().has_value());
  EXPECT_EQ(commit(**ledger, {payment("819")}), "pay_000001");
}

// Two refunds of one payment at once: the second sees the first, also if it is not answered yet.
TEST_P(AnyLedgerTest, APlanSeesWhatIsCommittedAndMayRefuse) {
  commit(**ledger, {payment("817"), payment("818")});
  EXPECT_EQ((*ledger)->count(), 2U);
  Effect refund;
  refund.kind = "refund";
  refund.parent = "pay_000001";
  refund.params = Json::object();
  const auto once = [&](Ledger::View& past) -> Result<std::vector<Effect>> {
    const auto earlier = past.find({"refund", FindBy::parent, "pay_000001"});
    if (!earlier) return tl::unexpected(earlier.error());
    if (!earlier->empty()) return std::vector<Effect>{};
    return std::vector<Effect>{refund};
  };
  EXPECT_EQ((*ledger)->commit(once, no_key)->at(0).id, "ref_000003");
  EXPECT_TRUE((*ledger)->commit(once, no_key)->empty());
  EXPECT_EQ((*ledger)->count(), 3U);
}

// An exception on its way out of a transaction, of which everything is undone.
TEST_P(AnyLedgerTest, WhatIsNotCommittedIsNotThere) {
  commit(**ledger, {payment("817", "k1")});
  ASSERT_TRUE((*ledger)->store_key({"k1", "f", 402, "no", clock_.monotonic()}).has_value());
  const auto broken = [](const std::vector<Effect>& made) -> std::optional<StoredKey> {
    EXPECT_EQ(made.at(1).id, "pay_000003");
    throw std::runtime_error("no answer");
  };
  EXPECT_THROW(
      static_cast<void>((*ledger)->commit(planned({payment("818", "k1"), payment("819")}), broken)),
      std::runtime_error);
  EXPECT_EQ((*ledger)->count(), 1U);
  EXPECT_EQ((*ledger)->find({"", FindBy::key, "k1"})->size(), 1U);
  EXPECT_TRUE((*ledger)->find({"", FindBy::business_ref, "818"})->empty());
  EXPECT_TRUE((*ledger)->find({"", FindBy::id, "pay_000002"})->empty());
  EXPECT_EQ((*ledger)->find_key("k1")->value().status, 402);
  EXPECT_EQ(commit(**ledger, {payment("820")}), "pay_000002");
}

TEST_P(AnyLedgerTest, AKeyIsReplacedAndForgotten) {
  EXPECT_FALSE((*ledger)->find_key("k1")->has_value());
  clock_.advance(std::chrono::seconds{2});
  ASSERT_TRUE((*ledger)->store_key({"k1", "f", 402, "no", clock_.monotonic()}).has_value());
  ASSERT_TRUE((*ledger)->store_key({"k1", "g", 201, "yes", clock_.monotonic()}).has_value());
  const auto key = (*ledger)->find_key("k1")->value();
  EXPECT_EQ(key.key, "k1");
  EXPECT_EQ(key.fingerprint, "g");
  EXPECT_EQ(key.body, "yes");
  EXPECT_EQ(key.first_seen_at, clock_.monotonic());
  ASSERT_TRUE((*ledger)->forget_key("k1").has_value());
  EXPECT_FALSE((*ledger)->find_key("k1")->has_value());
}

TEST_P(AnyLedgerTest, AnEffectIsReadAsItWasMade) {
  Effect effect = payment("817", "k1");
  effect.parent = "pay_000009";
  effect.params = parse_json(R"({"n":1e2,"list":[null,true,"\u00e4"]})", "test").value();
  const auto made = (*ledger)->commit(planned({effect, payment("817")}), no_key).value();
  const auto read = (*ledger)->effects().value();
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].id, made[0].id);
  EXPECT_EQ(read[0].service, "payments");
  EXPECT_EQ(read[0].params, effect.params);
  EXPECT_EQ(read[0].request, 3U);
  EXPECT_EQ(read[0].committed_at, made[0].committed_at);
  EXPECT_EQ(read[0].committed_at_civil, made[0].committed_at_civil);
  EXPECT_EQ((*ledger)->find({"", FindBy::parent, "pay_000009"})->size(), 1U);
  const auto about = (*ledger)->find({"", FindBy::business_ref, "817"}).value();
  ASSERT_EQ(about.size(), 2U);
  EXPECT_EQ(about[1].id, "pay_000002");
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
    const auto stored =
        (*ledger)->commit(planned({payment("817", "k1")}), [&](const std::vector<Effect>& made) {
          return std::optional(
              StoredKey{"k1", "f", 201, "{\"id\":\"" + made[0].id + "\"}", clock.monotonic()});
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
