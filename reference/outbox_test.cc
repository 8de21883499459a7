// The outbox in a real file: the caller's row and the intent commit together or not at all.
#include "reference/outbox.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "reference/executor_world.h"
#include "reference/sqlite_journal.h"

namespace onceproof {
namespace {

using namespace std::chrono_literals;

class OutboxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    file_.policy = world_policy();
    file_.policy.tools["create_payment"].keep_params = true;
    world_.policy = file_.policy;
    ASSERT_TRUE(shop_.execute("CREATE TABLE orders (id TEXT PRIMARY KEY, total INTEGER) STRICT"));
    journal_ = SqliteJournal::open(path(), {.file = FileUse::shared}).value();
  }
  std::filesystem::path path() const { return dir_.path() / "shop.db"; }
  OutboxParts parts() { return {world_.clock, world_.random, file_, world_.sealer, "shop"}; }
  Result<Registered> register_in(const Intent& intent) {
    return Outbox(parts()).register_in(shop_.handle(), intent);
  }
  void run(const char* sql) { ASSERT_TRUE(shop_.execute(sql)) << sql; }
  std::int64_t orders() {
    auto query = shop_.prepare("SELECT count(*) FROM orders").value();
    EXPECT_TRUE(query.step().value());
    return query.integer(0);
  }
  std::vector<Operation> operations() { return journal_->list({}).value(); }
  void deliver() { Reconciler(world_.parts(*journal_, "deliverer")).run_once().value(); }

  TempDir dir_ = std::move(TempDir::make("onceproof-outbox").value());
  World world_{searchable_guarantees()};
  PolicyFile file_;
  Database shop_ = Database::open(path(), Durability::full, 1s).value();
  std::unique_ptr<SqliteJournal> journal_;
};

TEST_F(OutboxTest, TheOrderAndItsPaymentCommitTogetherAndTheDelivererPaysOnce) {
  run("BEGIN IMMEDIATE");
  run("INSERT INTO orders VALUES ('817', 490000)");
  const auto registered = register_in(payment_intent());
  ASSERT_TRUE(registered) << registered.error().message;
  EXPECT_TRUE(registered->created);
  EXPECT_TRUE(operations().empty());  // nobody sees it before the commit
  deliver();
  EXPECT_TRUE(world_.provider.calls.empty());
  run("COMMIT");
  deliver();
  deliver();
  ASSERT_EQ(world_.provider.effects.size(), 1U);
  EXPECT_EQ(world_.provider.effects[0].params, payment_intent().params);
  EXPECT_EQ(operations().at(0).status, Status::succeeded);
  EXPECT_EQ(operations().at(0).sealed_params, "");
  EXPECT_EQ(orders(), 1);
}

TEST_F(OutboxTest, WhatIsRolledBackIsNeverCalled) {
  run("BEGIN");
  run("INSERT INTO orders VALUES ('817', 490000)");
  ASSERT_TRUE(register_in(payment_intent()));
  run("ROLLBACK");
  deliver();
  EXPECT_TRUE(world_.provider.calls.empty());
  EXPECT_TRUE(operations().empty());
  EXPECT_EQ(orders(), 0);
}

TEST_F(OutboxTest, TheSameIntentAgainIsTheSameOperation) {
  run("BEGIN");
  const auto first = register_in(payment_intent()).value();
  const auto again = register_in(payment_intent()).value();
  run("COMMIT");
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.operation.operation_key, first.operation.operation_key);
  deliver();
  run("BEGIN");
  EXPECT_EQ(register_in(payment_intent()).value().operation.status, Status::succeeded);
  run("COMMIT");
  EXPECT_EQ(world_.provider.effects.size(), 1U);
}

TEST_F(OutboxTest, AnotherAmountIsRefusedAndTheCallersTransactionGoesOn) {
  run("BEGIN");
  ASSERT_TRUE(register_in(payment_intent()));
  Intent other = payment_intent();
  other.params["amount_minor"] = 1;
  const auto refused = register_in(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::already_exists);
  EXPECT_NE(refused.error().message.find("amount_minor"), std::string::npos);
  EXPECT_EQ(refused.error().message.find("490000"), std::string::npos);
  Intent taken = payment_intent("order-818");
  taken.operation_key = operations().empty() ? "k1" : "k2";
  ASSERT_TRUE(register_in(taken));
  Intent thief = payment_intent("order-819");
  thief.operation_key = taken.operation_key;
  EXPECT_EQ(register_in(thief).error().code, ErrorCode::already_exists);
  run("COMMIT");
  EXPECT_EQ(operations().size(), 2U);
}

TEST_F(OutboxTest, RefusesWhatCouldNotBeDelivered) {
  EXPECT_NE(register_in(payment_intent()).error().message.find("BEGIN"), std::string::npos);
  run("BEGIN");
  Intent intent = payment_intent();
  intent.action = "unknown_tool";
  EXPECT_EQ(register_in(intent).error().code, ErrorCode::not_found);
  intent = payment_intent();
  intent.params["amount_minor"] = 0.5;
  EXPECT_EQ(register_in(intent).error().code, ErrorCode::invalid_argument);
  intent = payment_intent();
  intent.params["reference"] = "mine";
  EXPECT_EQ(register_in(intent).error().code, ErrorCode::invalid_argument);
  file_.policy.tools["create_payment"].keep_params = false;
  const auto refused = register_in(payment_intent());
  EXPECT_NE(refused.error().message.find("keep_params: encrypted"), std::string::npos);
  run("COMMIT");
  EXPECT_TRUE(operations().empty());
}

TEST_F(OutboxTest, AFileWithoutAJournalIsRefusedWithTheRemedy) {
  auto other = Database::open(dir_.path() / "other.db", Durability::fast, 1s).value();
  ASSERT_TRUE(other.execute("BEGIN"));
  const auto refused = Outbox(parts()).register_in(other.handle(), payment_intent());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().message.find("FileUse::shared"), std::string::npos);
}

// A process of its own, which dies by SIGKILL where `die` says.
TEST_F(OutboxTest, KilledBeforeOrAfterTheCommitBothExistOrNeither) {
  for (const bool committed : {false, true}) {
    const pid_t child = fork();
    if (child == 0) {
      auto mine = Database::open(path(), Durability::full, 1s);
      const std::string order = committed ? "b" : "a";
      const bool ok =
          mine && mine->execute("BEGIN IMMEDIATE") &&
          mine->execute(("INSERT INTO orders VALUES ('" + order + "', 1)").c_str()) &&
          Outbox(parts()).register_in(mine->handle(), payment_intent("order-" + order)) &&
          (!committed || mine->execute("COMMIT"));
      if (ok) kill(getpid(), SIGKILL);
      _exit(1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(orders(), committed ? 1 : 0);
    EXPECT_EQ(operations().size(), committed ? 1U : 0U);
  }
  deliver();
  EXPECT_EQ(world_.provider.effects.size(), 1U);
}

// Rules change while intents are out: what is in the journal is compared as it was hashed.
TEST_F(OutboxTest, AnIntentIsComparedByItsOwnHashVersion) {
  run("BEGIN IMMEDIATE");
  EXPECT_TRUE(register_in(payment_intent())->created);
  run("COMMIT");
  ToolPolicy& tool = file_.policy.tools["create_payment"];
  tool.earlier_fields[1] = tool.fields;
  tool.hash_version = 2;
  tool.fields["order_id"] = {FieldRule::ignore};
  Intent other = payment_intent();
  other.params["order_id"] = "another";
  run("BEGIN IMMEDIATE");
  EXPECT_FALSE(register_in(payment_intent())->created);
  EXPECT_EQ(register_in(other).error().code, ErrorCode::already_exists);
  run("COMMIT");
}

}  // namespace
}  // namespace onceproof
