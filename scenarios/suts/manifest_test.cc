#include "scenarios/suts/manifest.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace onceproof::scenarios {
namespace {

constexpr const char* kWhole = R"(name: my-executor
adapter: exec
command: [python3, -I, sut.py]
working_dir: .
env: {LOG_LEVEL: debug, EMPTY: ""}
start_timeout: 2s
answer_timeout: 500ms
)";

std::string error_of(std::string_view text) {
  const auto spec = parse_manifest(text, "/tmp/onceproof.yaml");
  EXPECT_FALSE(spec.has_value()) << text;
  if (spec) return {};
  EXPECT_EQ(spec.error().code, ErrorCode::parse_failed);
  return spec.error().message;
}

// `kWhole` with one line replaced.
std::string with_line(std::size_t number, std::string_view line) {
  std::string text;
  std::size_t count = 0;
  std::string_view rest = kWhole;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    text += ++count == number ? line : rest.substr(0, end);
    text += '\n';
    rest.remove_prefix(end + 1);
  }
  return text;
}

TEST(ManifestTest, ReadsEveryField) {
  const auto spec = parse_manifest(kWhole, "/tmp/onceproof.yaml");
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->name, "my-executor");
  EXPECT_EQ(spec->command, (std::vector<std::string>{"python3", "-I", "sut.py"}));
  EXPECT_EQ(spec->working_dir, "/tmp/.");
  EXPECT_EQ(spec->environment,
            (std::map<std::string, std::string>{{"LOG_LEVEL", "debug"}, {"EMPTY", ""}}));
  EXPECT_EQ(spec->start_timeout, Milliseconds{2'000});
  EXPECT_EQ(spec->answer_timeout, Milliseconds{500});
  EXPECT_FALSE(spec->reference);
}

TEST(ManifestTest, TheManifestsFolderIsTheDefaultWorkingDir) {
  const auto spec = parse_manifest("name: a\nadapter: exec\ncommand: [./sut]\n", "/usr/x.yaml");
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->working_dir, "/usr");
  EXPECT_EQ(spec->start_timeout, Milliseconds{5'000});
  EXPECT_EQ(spec->answer_timeout, Milliseconds{10'000});
}

TEST(ManifestTest, EveryMistakeIsNamedWithItsPlace) {
  EXPECT_EQ(error_of("adapter: exec\ncommand: [a]\n"),
            "/tmp/onceproof.yaml:1:1: the member 'name' is missing");
  EXPECT_EQ(error_of(with_line(2, "adapter: exce")),
            "/tmp/onceproof.yaml:2:10: adapter: 'exce' is unknown; did you mean 'exec'? There are: "
            "exec");
  EXPECT_EQ(error_of(with_line(3, "command: python3 sut.py")),
            "/tmp/onceproof.yaml:3:10: command: expected a list, one item an argument: [python3, "
            "sut.py]");
  EXPECT_EQ(error_of(with_line(3, "command: []")),
            "/tmp/onceproof.yaml:3:10: command: the command is empty; write [python3, sut.py]");
  EXPECT_EQ(error_of(with_line(4, "working_dir: no-such-folder")),
            "/tmp/onceproof.yaml:4:14: working_dir: there is no folder /tmp/no-such-folder");
  EXPECT_EQ(error_of(with_line(5, "env: {LOG LEVEL: debug}")),
            "/tmp/onceproof.yaml:5:18: env.LOG LEVEL: a variable's name has letters, digits and "
            "underscores only");
  EXPECT_EQ(error_of(with_line(6, "start_timeout: 2")),
            "/tmp/onceproof.yaml:6:16: start_timeout: '2' is not a duration; write a number and a "
            "unit: 250ms, 1.5s, 2m, 1h");
  EXPECT_EQ(error_of(with_line(7, "answer_timeout: 1h")),
            "/tmp/onceproof.yaml:7:17: answer_timeout: must be from 10 ms to 10 min");
  EXPECT_EQ(error_of(with_line(7, "answer_timeuot: 1s")),
            "/tmp/onceproof.yaml:7:1: unknown member 'answer_timeuot'; did you mean "
            "'answer_timeout'?");
  EXPECT_EQ(error_of(with_line(7, "name: again")),
            "/tmp/onceproof.yaml:7:1: duplicate member 'name'; it stands already in line 1");
}

TEST(ManifestTest, AMissingFileIsNamed) {
  const auto spec = load_manifest("/no/such/onceproof.yaml");
  ASSERT_FALSE(spec.has_value());
  EXPECT_EQ(spec.error().code, ErrorCode::not_found);
  EXPECT_NE(spec.error().message.find("/no/such/onceproof.yaml"), std::string::npos);
}

}  // namespace
}  // namespace onceproof::scenarios
