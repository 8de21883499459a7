// The commands that look into a journal, on journals that the library has written.
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/random.h"
#include "base/sqlite.h"
#include "cli/cli_fixture.h"
#include "reference/sealer.h"
#include "reference/sqlite_journal.h"

namespace onceproof::cli {
namespace {

using std::chrono::hours;

constexpr const char* kJournal = "sqlite:j.db";
constexpr const char* kFollowedPolicy = R"(
tool_policy:
  create_payment:
    follow_ups:
      - {step: receipt, action: send_email, params: {text: "Paid: ${external_id}"}}
  send_email: {keep_params: encrypted}
)";
const std::string kKey = std::string(32, 'a') + std::string(32, 'b');

class JournalFile {
 public:
  JournalFile(const std::filesystem::path& path, CivilTime begin)
      : journal_(SqliteJournal::open(path, {.durability = Durability::fast}).value()),
        begin_(begin) {}

  SqliteJournal& journal() { return *journal_; }
  Operation pending(const std::string& key, const std::string& action = "create_payment") {
    Operation operation;
    operation.operation_key = key;
    operation.intent_id = "intent of " + key;
    operation.action_type = action;
    operation.request_hash = std::string(64, '0');
    operation.field_digests = {{"amount_minor", "0123456789abcdef"}};
    operation.created_at = begin_;
    return journal_->register_operation(operation, "w1").value().operation;
  }
  void claimed(const std::string& key, const std::string& action = "create_payment") {
    pending(key, action);
    EXPECT_TRUE(journal_->claim({key, 0, "w1", begin_, begin_ + hours(1)}).has_value());
  }
  void unknown(const std::string& key, const std::string& action = "create_payment") {
    claimed(key, action);
    EXPECT_TRUE(journal_->mark_unknown(key, 1, "timeout", begin_, begin_, "w1").has_value());
  }
  void in_review(const std::string& key) {  // four events
    unknown(key);
    EXPECT_TRUE(journal_->escalate(key, 1, "unknown_after", begin_, "w1").has_value());
  }
  void succeeded(const std::string& key) {
    claimed(key);
    EXPECT_TRUE(journal_->mark_succeeded(key, 1, {"pay_" + key, {}, {}}, begin_, "w1").has_value());
  }

 private:
  std::unique_ptr<SqliteJournal> journal_;
  CivilTime begin_;
};

class JournalCliTest : public CliTest {
 protected:
  JournalFile open() { return {path("j.db"), clock_.civil() - hours(2'000)}; }
  std::vector<std::string> resolve(const std::string& key, const std::string& seen,
                                   std::vector<std::string> more = {}) const {
    std::vector<std::string> args{"review", "resolve", "--journal",         kJournal, key,
                                  "--seen", seen,      "--succeeded",       "pay_7",  "--by",
                                  "olga",   "--why",   "seen in the ledger"};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  // Changes the file in ways that the journal itself never would.
  void damage(const char* sql) {
    auto database = Database::open(path("j.db"), Durability::fast, Milliseconds{1'000}).value();
    const auto read = [&](const char* query) {
      std::vector<std::string> names;
      auto statement = database.prepare(query).value();
      while (statement.step().value()) names.push_back(statement.text(0));
      return names;
    };
    for (const auto& name : read("SELECT name FROM sqlite_schema WHERE type = 'trigger'")) {
      ASSERT_TRUE(database.execute(("DROP TRIGGER " + name).c_str()).has_value());
    }
    const auto done = database.execute(sql);
    ASSERT_TRUE(done.has_value()) << done.error().message;
  }
  static bool has(const std::string& text, const std::string& what) {
    return text.find(what) != std::string::npos;
  }
  static std::vector<Json> lines_of(const std::string& text) {
    std::vector<Json> lines;
    for (std::size_t from = 0; from < text.size();) {
      const auto end = text.find('\n', from);
      lines.push_back(parse_json(text.substr(from, end - from)).value());
      from = end + 1;
    }
    return lines;
  }
};

TEST_F(JournalCliTest, ReviewListShowResolveOnce) {
  open().in_review("op_1");
  const auto listed = call({"review", "list", "--journal", kJournal});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_TRUE(has(listed.out, "op_1  in review")) << listed.out;
  EXPECT_TRUE(has(listed.out, "waiting for 2000 h")) << listed.out;
  EXPECT_TRUE(has(listed.out, "review show --journal sqlite:j.db op_1\n")) << listed.out;
  const auto shown = call({"review", "show", "--journal", kJournal, "op_1"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(has(shown.out, "escalated")) << shown.out;
  EXPECT_TRUE(has(shown.out, "--seen 4 --by NAME --why TEXT --absent op_1\n")) << shown.out;

  const auto resolved = call(resolve("op_1", "4"));
  EXPECT_EQ(resolved.code, 0) << resolved.err;
  EXPECT_TRUE(has(resolved.out, "succeeded")) << resolved.out;
  EXPECT_TRUE(has(resolved.err, "without --policy")) << resolved.err;
  expect_unusable(resolve("op_1", "5", {"--policy", "/dev/null"}), "/dev/null");
  ASSERT_TRUE(write_file(path("p.yaml"), "tool_policy: {}\n").has_value());
  expect_unusable(resolve("op_1", "5", {"--policy", "p.yaml"}),
                  "it is not in review but succeeded (resolved by olga)");
  EXPECT_EQ(call({"review", "list", "--journal", kJournal}).out, "nothing waits for a person\n");
  EXPECT_EQ(open().journal().load("op_1")->external_id, "pay_7");
}

TEST_F(JournalCliTest, AStaleSeenIsRefused) {
  open().in_review("op_1");
  ASSERT_TRUE(write_file(path("p.yaml"), "tool_policy: {}\n").has_value());
  expect_unusable(resolve("op_1", "3", {"--policy", "p.yaml"}),
                  "you saw 3 events and there are 4; look again");
  EXPECT_TRUE(open().journal().load("op_1")->review_since.has_value());
}

TEST_F(JournalCliTest, ResolveWithPolicyRegistersFollowUps) {
  open().in_review("op_1");
  ASSERT_TRUE(write_file(path("p.yaml"), kFollowedPolicy).has_value());
  const auto ended = call(resolve("op_1", "4", {"--policy", "p.yaml"}), {{"ONCEPROOF_KEY", kKey}});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(has(ended.out, "  then op_1/receipt\n")) << ended.out;
  EXPECT_FALSE(has(ended.out, "not registered")) << ended.out;
  const auto receipt = open().journal().load("op_1/receipt");
  ASSERT_TRUE(receipt.has_value());
  EXPECT_EQ(receipt->status, Status::pending);
  EXPECT_EQ(receipt->action_type, "send_email");
  EXPECT_EQ(receipt->parent_key, "op_1");
}

TEST_F(JournalCliTest, ResolveSaysWhichFollowUpsWereRefusedAndWhy) {
  {
    auto file = open();
    file.in_review("op_1");
    file.in_review("op_2");
    file.pending("op_1/receipt");  // the key is taken by something else
  }
  ASSERT_TRUE(write_file(path("p.yaml"), kFollowedPolicy).has_value());
  const auto taken = call(resolve("op_1", "4", {"--policy", "p.yaml"}), {{"ONCEPROOF_KEY", kKey}});
  EXPECT_EQ(taken.code, 0) << taken.err;
  EXPECT_FALSE(has(taken.out, "then op_1/receipt")) << taken.out;
  EXPECT_TRUE(has(taken.out, "  not registered: op_1/receipt: ")) << taken.out;
  EXPECT_TRUE(has(taken.out, "belongs to another intent")) << taken.out;
  const auto keyless = call(resolve("op_2", "4", {"--policy", "p.yaml"}));
  EXPECT_EQ(keyless.code, 0) << keyless.err;
  EXPECT_FALSE(has(keyless.out, "then op_2/receipt")) << keyless.out;
  EXPECT_TRUE(has(keyless.out, "  not registered: op_2/receipt: ")) << keyless.out;
}

TEST_F(JournalCliTest, TheKeyComesFromFileOrEnvironmentAndNotBoth) {
  {
    auto file = open();
    for (const char* key : {"op_1", "op_2", "op_3"}) file.in_review(key);
  }
  ASSERT_TRUE(write_file(path("p.yaml"), kFollowedPolicy).has_value());
  ASSERT_TRUE(write_file(path("key"), "# the key\n" + kKey + "\n").has_value());
  ASSERT_TRUE(write_file(path("no-key"), "abc\n").has_value());
  const auto sealer = Sealer::from_text(kKey, "test").value();
  const std::vector<std::string> policy{"--policy", "p.yaml"};
  EXPECT_EQ(call(resolve("op_1", "4", policy), {{"ONCEPROOF_KEY_FILE", "key"}}).code, 0);
  EXPECT_EQ(call(resolve("op_2", "4", policy), {{"ONCEPROOF_KEY", kKey}}).code, 0);
  for (const std::string key : {"op_1/receipt", "op_2/receipt"}) {
    const auto receipt = open().journal().load(key).value();
    EXPECT_EQ(sealer.open(key, receipt.sealed_params).value(), (Json{{"text", "Paid: pay_7"}}));
  }
  expect_unusable(resolve("op_3", "4", policy), "ONCEPROOF_KEY_FILE and ONCEPROOF_KEY are both set",
                  {{"ONCEPROOF_KEY", kKey}, {"ONCEPROOF_KEY_FILE", "key"}});
  expect_unusable(resolve("op_3", "4", policy), "no-key", {{"ONCEPROOF_KEY_FILE", "no-key"}});
  expect_unusable(resolve("op_3", "4", policy), "absent", {{"ONCEPROOF_KEY_FILE", "absent"}});
  EXPECT_TRUE(open().journal().load("op_3")->review_since.has_value());
}

TEST_F(JournalCliTest, JournalListShowVerifyPurgeExport) {
  {
    auto file = open();
    file.succeeded("op_1");
    file.unknown("op_2");
  }
  const auto listed = call({"journal", "list", "--journal", kJournal});
  EXPECT_TRUE(has(listed.out, "op_1  succeeded") && has(listed.out, "op_2  unknown")) << listed.out;
  const auto ended = lines_of(
      call({"journal", "list", "--journal", kJournal, "--status", "succeeded", "--json"}).out);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0]["external_id"], "pay_op_1");
  const auto page = call({"journal", "list", "--journal", kJournal, "--limit", "1"}).out;
  EXPECT_TRUE(has(page, "--journal sqlite:j.db --after op_1\n")) << page;

  const auto shown = call({"journal", "show", "--journal", kJournal, "op_2"});
  EXPECT_TRUE(has(shown.out, "registered") && has(shown.out, "ambiguous")) << shown.out;
  expect_unusable({"journal", "show", "--journal", kJournal, "op_9"}, "no operation 'op_9'");
  const auto verified = call({"journal", "verify", "--journal", kJournal});
  EXPECT_EQ(verified.code, 0) << verified.err;
  EXPECT_TRUE(has(verified.out, "sqlite:j.db: sound: ")) << verified.out;
  const auto exported = lines_of(call({"journal", "export", "--journal", kJournal}).out);
  ASSERT_EQ(exported.size(), 2U);
  EXPECT_EQ(exported[1]["events"].size(), 3U);
  EXPECT_FALSE(has(to_line(exported[0]), "0123456789abcdef")) << "a parameter's digest";

  ASSERT_TRUE(write_file(path("p.yaml"), "tool_policy: {create_payment: {}}\n").has_value());
  std::vector<std::string> purge{"journal", "purge",    "--journal",      kJournal, "--policy",
                                 "p.yaml",  "--action", "create_payment", "--age",  "1h"};
  expect_unusable(purge, "1 h");
  purge.back() = "720h";
  const auto purged = call(purge);
  EXPECT_EQ(purged.code, 0) << purged.err;
  EXPECT_TRUE(purged.out.starts_with("1 operations of create_payment")) << purged.out;
  EXPECT_FALSE(open().journal().load("op_1").has_value());
  EXPECT_TRUE(open().journal().load("op_2").has_value());
}

TEST_F(JournalCliTest, WhatListRefusesIsNotSoundToVerify) {
  open().succeeded("op_1");
  for (const char* sql : {"UPDATE operation_events SET reason = 'x'",  // sound, still
                          "UPDATE agent_operations SET field_digests = '['"}) {
    damage(sql);
    const auto listed = call({"journal", "list", "--journal", kJournal});
    const auto verified = call({"journal", "verify", "--journal", kJournal});
    EXPECT_EQ(listed.code == 0, verified.code == 0) << sql << verified.out;
    if (listed.code != 0) {
      EXPECT_EQ(verified.code, 1) << sql;
    }
  }
  EXPECT_TRUE(has(call({"journal", "verify", "--journal", kJournal}).err, "field_digests"));
}

// Root may write everywhere, so there it is tried as nobody.
TEST_F(JournalCliTest, AJournalThatCannotBeWrittenIsSaidToBeSo) {
  open().succeeded("op_1");
  std::filesystem::copy_file(ONCEPROOF_BINARY, path("program"));
  std::vector<std::string> command{path("program"), "journal", "list", "--journal", kJournal};
  if (::geteuid() == 0) {
    command.insert(command.begin(), {"setpriv", "--reuid=65534", "--clear-groups"});
  }
  ASSERT_EQ(::chmod(path("j.db").c_str(), 0444), 0);
  ASSERT_EQ(::chmod(path("program").c_str(), 0555), 0);
  ASSERT_EQ(::chmod(work_->path().c_str(), 0555), 0);
  const auto ended = call_any(command);
  ASSERT_EQ(::chmod(work_->path().c_str(), 0755), 0);
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(has(ended.err, "j.db cannot be written (Permission denied)")) << ended.err;
}

TEST_F(JournalCliTest, WhatAJournalSaysReachesNoTerminalRaw) {
  open().in_review("op_1");
  damage(
      "PRAGMA foreign_keys=OFF; UPDATE operation_events SET operation_key = 'p' || char(27, 155);"
      " UPDATE agent_operations SET operation_key = 'p' || char(27, 155),"
      " action_type = 'a' || char(27)");
  const std::string key = "p\x1b\xc2\x9b";
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"journal", "list", "--limit", "1"},
        {"journal", "list", "--json"},
        {"journal", "export"},
        {"journal", "show", key},
        {"review", "list", "--limit", "1"},
        {"review", "show", key}}) {
    auto all = args;
    all.insert(all.end(), {"--journal", kJournal});
    const auto ended = call(all);
    EXPECT_EQ(ended.code, 0) << args[0] << " " << args[1] << ": " << ended.err;
    EXPECT_TRUE(has(ended.out, "\\x1b") || has(ended.out, "\\u001b")) << ended.out;
    EXPECT_EQ(ended.out.find('\x1b'), std::string::npos) << args[0] << " " << args[1];
    EXPECT_EQ(ended.out.find("\xc2\x9b"), std::string::npos) << args[0] << " " << args[1];
  }
  EXPECT_TRUE(has(call({"review", "show", "--journal", kJournal, key}).out,
                  "--absent $'p\\033\\302\\233'\n"));
}

TEST_F(JournalCliTest, ATimeThatLiesAheadOrIsNonsenseMeansNoWait) {
  open().in_review("op_1");
  for (const char* time : {"9223372036854775807", "-9223372036854775808"}) {
    damage(("UPDATE agent_operations SET review_since = " + std::string(time)).c_str());
    const auto listed = call({"review", "list", "--journal", kJournal});
    EXPECT_EQ(listed.code, 0) << listed.err;
    EXPECT_TRUE(has(listed.out, "waiting for ")) << listed.out;
    EXPECT_FALSE(has(listed.out, "waiting for -")) << listed.out;
  }
}

TEST_F(JournalCliTest, AGatewayNamesWhatItsPolicyLeavesUnattended) {
  {
    auto file = open();
    file.pending("op_1", "pay\x1b");
    file.claimed("op_2", "pay\x1b");
    file.unknown("op_3", "pay\x1b");
    file.unknown("op_4", "refund");
    file.unknown("op_5", "kept");
    file.succeeded("op_6");
  }
  ASSERT_TRUE(
      write_file(path("p.yaml"),
                 "tool_policy: {kept: {}, refund: {}}\ngateway:\n  routes: [{method: POST, path: "
                 "\"/a\\e[2J\", action: kept}]\n")
          .has_value());
  const auto process = start(
      {"gateway", "--upstream", "http://127.0.0.1:1", "--policy", "p.yaml", "--journal", kJournal},
      {{"ONCEPROOF_KEY", kKey}});
  const auto said = read_until(*process, "Ctrl-C");
  EXPECT_EQ(said.find('\x1b'), std::string::npos) << said;
  ASSERT_EQ(::kill(process->pid(), SIGTERM), 0);
  const auto ended = finish(*process);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(has(ended.err, "onceproof: 3 operations of 'pay\\x1b' have not ended")) << ended.err;
  EXPECT_TRUE(has(ended.err, "onceproof: 1 operation of 'refund' has not ended")) << ended.err;
  EXPECT_FALSE(has(ended.err, "'kept'") || has(ended.err, "create_payment")) << ended.err;
}

}  // namespace
}  // namespace onceproof::cli
