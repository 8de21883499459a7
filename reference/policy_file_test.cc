#include "reference/policy_file.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/file.h"
#include "reference/gateway.h"

namespace onceproof {
namespace {

using namespace std::chrono_literals;

// Word for word the guide's, "Политика агента".
constexpr std::string_view kGuide = R"(tool_policy:
  create_payment:
    operation_key: required
    retry:
      reuse_operation_key: true
      on_timeout: reconcile_before_retry
    terminal_states:
      - succeeded
      - failed_final
    unknown_after_seconds: 900
    on_unresolved: require_human_review

  send_email:
    operation_key: required
    retry:
      reuse_operation_key: true
      on_timeout: reconcile_before_retry
)";

PolicyFile parse(std::string_view yaml) {
  auto file = parse_policy(yaml, "policy.yaml");
  EXPECT_TRUE(file) << file.error().message;
  return file.value_or(PolicyFile{});
}

std::string refusal(std::string_view yaml) {
  const auto file = parse_policy(yaml, "policy.yaml");
  if (file) return "accepted";
  EXPECT_EQ(file.error().code, ErrorCode::parse_failed);
  return file.error().message;
}

TEST(PolicyFileTest, ReadsTheGuidesPolicy) {
  const auto file = parse(kGuide);
  ASSERT_EQ(file.policy.tools.size(), 2u);
  EXPECT_EQ(file.policy.tools.at("create_payment").unknown_after, 15min);
  EXPECT_EQ(file.policy.tools.at("send_email").unknown_after, ToolPolicy{}.unknown_after);
  EXPECT_FALSE(file.guarantees.at("send_email").key_dedup);  // promises nothing
}

TEST(PolicyFileTest, ReadsTheExampleOfTheHeader) {
  const auto file = parse(R"(
provider:
  key_dedup: {header: Idempotency-Key, window: 24h}
  lookup: {by: key, complete: true, index_delay: 2s}
  max_in_flight: 30s
  no_effect: [{status: 400}, {status: 422, error: validation_failed}]
tool_policy:
  create_payment:
    operation_key: required
    retry: {reuse_operation_key: true, on_timeout: reconcile_before_retry}
    terminal_states: [succeeded, failed_final]
    unknown_after: 15m
    on_unresolved: require_human_review
    fields: {amount_minor: minor_units, currency: currency, note: [absent_if_null, trim]}
    result_fields: [status]
  send_email:
    provider: {lookup: null}
  file_application:
)");
  const auto& payment = file.policy.tools.at("create_payment");
  EXPECT_EQ(payment.unknown_after, 15min);
  EXPECT_EQ(payment.fields.at("note"), (std::vector{FieldRule::absent_if_null, FieldRule::trim}));
  EXPECT_EQ(payment.result_fields, std::vector<std::string>{"status"});
  const auto& promised = file.guarantees.at("create_payment");
  EXPECT_EQ(promised.key_dedup->window, 24h);
  EXPECT_EQ(promised.lookup->index_delay, 2s);
  EXPECT_EQ(promised.max_in_flight, 30s);
  EXPECT_EQ(promised.no_effect.at(1).error, "validation_failed");
  EXPECT_FALSE(file.guarantees.at("send_email")
                   .key_dedup);  // a block of its own replaces the common one whole
  EXPECT_TRUE(file.guarantees.at("file_application").key_dedup);
}

TEST(PolicyFileTest, MistakesAreNamedWithLineAndColumn) {
  EXPECT_EQ(refusal("tool_policy:\n  pay:\n    unknown_afer: 15m\n"),
            "policy.yaml:3:5: tool_policy.pay: unknown member 'unknown_afer'; did you mean "
            "'unknown_after'?");
  EXPECT_EQ(refusal("tool_policy:\n  pay:\n    unknown_after: 15\n"),
            "policy.yaml:3:20: tool_policy.pay.unknown_after: '15' is not a duration; write a "
            "number and a unit: "
            "250ms, 1.5s, 2m, 1h");
  EXPECT_TRUE(refusal("tool_policy: {pay: {operation_key: optional}}")
                  .starts_with("policy.yaml:1:36: tool_policy.pay.operation_key: "));
  EXPECT_TRUE(refusal("tool_policy: {pay: {provider: {lookup: {by: id}}}}")
                  .starts_with("policy.yaml:1:45: tool_policy.pay.provider.lookup.by: "));
  EXPECT_TRUE(refusal("provider: {windw: 1}\ntool_policy: {}")
                  .starts_with("policy.yaml:1:12: provider: unknown member 'windw'"));
  EXPECT_TRUE(
      refusal("tools: {}\n").starts_with("policy.yaml:1:1: the member 'tool_policy' is missing"));
  EXPECT_TRUE(refusal("tool_policy: {}\nextra: 1\n")
                  .starts_with("policy.yaml:2:1: unknown member 'extra'"));
  EXPECT_TRUE(refusal("tool_policy:\n  pay: {}\n  pay: {}\n")
                  .starts_with("policy.yaml:3:3: duplicate member 'pay'"));
  EXPECT_TRUE(refusal("tool_policy: [\n").starts_with("policy.yaml:"));
  EXPECT_TRUE(refusal("").starts_with("policy.yaml:1:1: "));
}

TEST(PolicyFileTest, ReadsAFile) {
  const auto dir = std::move(TempDir::make("onceproof-policy").value());
  ASSERT_TRUE(write_file(dir.path() / "p.yaml", kGuide));
  EXPECT_TRUE(read_policy_file(dir.path() / "p.yaml"));
  const auto missing = read_policy_file(dir.path() / "none.yaml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
}

// Every policy that docs/reference.md shows is one.
TEST(PolicyFileTest, ReadsTheExamplesOfTheDocs) {
  const auto page =
      read_file(std::filesystem::path(ONCEPROOF_SOURCE_DIR) / "docs/reference.md").value();
  std::istringstream lines(page);
  std::vector<std::string> blocks(1);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("    ")) {
      blocks.back() += line.substr(4) + "\n";
    } else if (!blocks.back().empty()) {
      blocks.emplace_back();
    }
  }
  std::size_t policies = 0;
  for (const auto& block : blocks) {
    if (!block.starts_with("provider:") && !block.starts_with("tool_policy:")) continue;
    ++policies;
    const auto file = parse_policy(block, "docs/reference.md");
    ASSERT_TRUE(file) << file.error().message << "\n" << block;
    if (file->gateway.routes.empty()) continue;
    const auto checked = check_gateway(*file);
    EXPECT_TRUE(checked) << checked.error().message;
  }
  EXPECT_EQ(policies, 3U);
}

}  // namespace
}  // namespace onceproof
