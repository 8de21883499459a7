// No byte of a secret lies in the journal's files, whatever the provider says and however it ends.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "reference/executor_world.h"
#include "reference/sqlite_journal.h"

namespace onceproof {
namespace {

constexpr const char* kCard = "4242424242424242";
constexpr const char* kToken = "sk_live_s3cret";

class SecretsAtRestTest : public ::testing::TestWithParam<bool> {  // are parameters kept?
 protected:
  void SetUp() override { world_.policy.tools["create_payment"].keep_params = GetParam(); }
  Intent intent() {
    Intent intent = payment_intent();
    intent.params["card"] = kCard;
    intent.params["note"] = kToken;
    return intent;
  }
  Answer submit() { return Executor(world_.parts(*journal_, "w1")).submit(intent()).value(); }
  // Also what was erased: pages that are free, and the write-ahead log.
  void expect_nothing_readable() {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      const auto bytes = read_file(entry.path(), 100 << 20).value();
      for (const char* secret : {kCard, kToken, "490000", "insufficient funds"}) {
        EXPECT_EQ(bytes.find(secret), std::string::npos) << entry.path() << " has " << secret;
      }
      files += bytes.find("order-817") != std::string::npos ? 1 : 0;
    }
    EXPECT_GE(files, 1U) << "the files that were read are the journal's";
  }

  TempDir dir_ = std::move(TempDir::make("onceproof-secrets").value());
  World world_{searchable_guarantees()};
  std::unique_ptr<SqliteJournal> journal_ = SqliteJournal::open(dir_.path() / "journal.db").value();
};

TEST_P(SecretsAtRestTest, OfASuccess) {
  world_.provider.on_call = [](const CallRequest&) {
    return CallOutcome{OutcomeKind::confirmed,
                       "pay_1",
                       {{"status", "succeeded"}, {"card", kCard}, {"token", kToken}},
                       {},
                       {}};
  };
  EXPECT_EQ(submit().status, AnswerStatus::succeeded);
  expect_nothing_readable();
}

TEST_P(SecretsAtRestTest, OfARejection) {
  world_.provider.on_call = [](const CallRequest&) {
    return CallOutcome{OutcomeKind::rejected,
                       {},
                       {{"error", {{"message", std::string("insufficient funds on ") + kCard}}}},
                       "card_declined",
                       {}};
  };
  EXPECT_EQ(submit().status, AnswerStatus::failed_final);
  expect_nothing_readable();
}

TEST_P(SecretsAtRestTest, OfADoubtAndItsEnd) {
  world_.provider.replies = {LedgerProvider::Reply::lost_after_commit};
  EXPECT_EQ(submit().status, AnswerStatus::verification_required);
  expect_nothing_readable();
  world_.pass(100);
  EXPECT_EQ(submit().status, AnswerStatus::succeeded);
  expect_nothing_readable();
}

INSTANTIATE_TEST_SUITE_P(Kept, SecretsAtRestTest, ::testing::Bool());

}  // namespace
}  // namespace onceproof
