#include "scenarios/scenario_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/file.h"

namespace onceproof::scenarios {
namespace {

constexpr const char* kWhole = R"(scenario: lost-response
title: The provider commits, the reply never arrives
guide: step 7
reports: [R01, R43]
twin: no-request
services: [payments]
profiles: [keyed, blind]
workers: 2
intents:
  A: {action: create_payment, operation_key: "payment:order-817:intent-01",
      params: {order_id: "817", amount_minor: 490000, currency: RUB}}
  B: {action: create_payment, tenant: t2, intent_id: other, params: {order_id: 818}}
faults:
  - {at: after_commit, on: {route: create, intent: A, worker: w1, nth: 2}, do: hang, times: 3}
  - {at: request_received, do: {status: {code: 502, body: <html>, content_type: text/html}}, name: gateway, optional: true}
  - {at: request_received, do: {delay: 80ms}}
steps:
  - submit: A
    expect: {status: [verification_required, crashed], calls: 1, reference: verification_required}
  - submit: {intent: A, worker: w2, with: {amount_minor: 490001}}
    expect: {status: conflict, calls: 0}
  - parallel:
      - submit: A
        expect: {status: succeeded}
      - submit: {intent: B, worker: w2}
  - reconcile: until_settled
  - reconcile: {worker: w2}
  - status: {intent: A, worker: w2}
    expect: {status: succeeded}
  - wait: 100ms
  - kill: w1
  - restart: w1
expect:
  default: {effects: {A: 1, B: 1}, final: {A: succeeded, B: [succeeded, review]}}
  blind: {effects: {A: 1}, final: {A: review}}
)";

// `kWhole` with the first `from` replaced.
std::string changed(std::string_view from, std::string_view to) {
  std::string text = kWhole;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  const auto scenario = parse_scenario(text, "s.yaml");
  EXPECT_FALSE(scenario.has_value()) << text;
  return scenario ? "" : scenario.error().message;
}

TEST(ScenarioFileTest, ReadsEveryField) {
  const auto read = parse_scenario(kWhole, "s.yaml");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->name, "lost-response");
  EXPECT_EQ(read->guide, "step 7");
  EXPECT_EQ(read->reports, (std::vector<std::string>{"R01", "R43"}));
  EXPECT_EQ(read->twin, "no-request");
  EXPECT_EQ(read->services, std::vector<std::string>{"payments"});
  EXPECT_EQ(read->profiles, (std::vector<std::string>{"keyed", "blind"}));
  EXPECT_EQ(read->workers, 2);
  EXPECT_EQ(read->file, "s.yaml");
  EXPECT_EQ(read->intents.at("A").operation_key, "payment:order-817:intent-01");
  EXPECT_EQ(read->intents.at("A").params["order_id"], "817");  // quoted: a text
  EXPECT_EQ(read->intents.at("B").params["order_id"], 818);
  EXPECT_EQ(read->intents.at("B").tenant, "t2");
  EXPECT_EQ(read->intents.at("B").intent_id, "other");
}

TEST(ScenarioFileTest, ReadsEveryFault) {
  const auto read = parse_scenario(kWhole, "s.yaml");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->faults.size(), 3U);
  const auto& hang = read->faults[0];
  EXPECT_EQ(hang.intent, "A");
  EXPECT_EQ(hang.fault.name, "fault-1");
  EXPECT_EQ(faults::to_text(hang.fault),
            "*.create@after_commit worker=w1 nth=2 name=fault-1 3*hang");
  const auto& gateway = read->faults[1].fault;
  EXPECT_EQ(gateway.name, "gateway");
  EXPECT_TRUE(gateway.optional);
  EXPECT_EQ(gateway.action.status, 502);
  EXPECT_EQ(gateway.action.body, "<html>");
  EXPECT_EQ(gateway.action.content_type, "text/html");
  EXPECT_EQ(read->faults[2].fault.action.duration, Milliseconds{80});
}

TEST(ScenarioFileTest, ReadsEveryStep) {
  const auto read = parse_scenario(kWhole, "s.yaml");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->steps.size(), 9U);
  const auto& first = std::get<SubmitStep>(read->steps[0]);
  EXPECT_EQ(first.worker, "w1");
  EXPECT_TRUE(first.changed_params.is_null());
  EXPECT_EQ(first.expect.status, (std::vector<std::string>{"verification_required", "crashed"}));
  EXPECT_EQ(first.expect.calls, 1);
  EXPECT_EQ(first.expect.reference, std::vector<std::string>{"verification_required"});
  const auto& second = std::get<SubmitStep>(read->steps[1]);
  EXPECT_EQ(second.worker, "w2");
  EXPECT_EQ(second.changed_params, (Json{{"amount_minor", 490001}}));
  const auto& parallel = std::get<ParallelStep>(read->steps[2]);
  ASSERT_EQ(parallel.submits.size(), 2U);
  EXPECT_EQ(parallel.submits[0].expect.status, std::vector<std::string>{"succeeded"});
  EXPECT_EQ(parallel.submits[1].intent, "B");
  EXPECT_TRUE(std::get<ReconcileStep>(read->steps[3]).until_settled);
  EXPECT_FALSE(std::get<ReconcileStep>(read->steps[4]).until_settled);
  EXPECT_EQ(std::get<ReconcileStep>(read->steps[4]).worker, "w2");
  EXPECT_EQ(std::get<StatusStep>(read->steps[5]).expect.status,
            std::vector<std::string>{"succeeded"});
  EXPECT_EQ(std::get<WaitStep>(read->steps[6]).duration, Milliseconds{100});
  EXPECT_EQ(std::get<KillStep>(read->steps[7]).worker, "w1");
  EXPECT_EQ(std::get<RestartStep>(read->steps[8]).worker, "w1");
}

TEST(ScenarioFileTest, AProfilesExpectationReplacesTheDefaultAsAWhole) {
  const auto read = parse_scenario(kWhole, "s.yaml");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->expect.effects, (std::map<std::string, int>{{"A", 1}, {"B", 1}}));
  EXPECT_EQ(read->expect.final.at("B"), (std::vector<std::string>{"succeeded", "review"}));
  EXPECT_EQ(read->expect_for.at("blind").effects, (std::map<std::string, int>{{"A", 1}}));
  EXPECT_FALSE(read->expect_for.contains("keyed"));
}

TEST(ScenarioFileTest, WhatIsLeftOutHasItsDefault) {
  const auto read = parse_scenario(
      "scenario: a\ntitle: t\nprofiles: [keyed]\nintents: {A: {action: create_payment, params: "
      "{order_id: 1}}}\n"
      "steps: [submit: A]\n",
      "s.yaml");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->services, std::vector<std::string>{"payments"});
  EXPECT_EQ(read->workers, 1);
  EXPECT_EQ(read->intents.at("A").tenant, "t1");
  EXPECT_EQ(read->intents.at("A").operation_key, std::nullopt);
  EXPECT_TRUE(read->faults.empty());
  EXPECT_TRUE(read->expect.effects.empty());
}

struct Mistake {
  const char* from;
  const char* to;
  const char* message;  // one that ends in "..." is the beginning
};

class ScenarioFileMistakeTest : public testing::TestWithParam<Mistake> {};

TEST_P(ScenarioFileMistakeTest, IsNamedWithItsPlaceAndWhatWouldBeRight) {
  const auto& mistake = GetParam();
  std::string_view expected = mistake.message;
  auto message = error_of(changed(mistake.from, mistake.to));
  if (expected.ends_with("...")) {
    expected.remove_suffix(3);
    message.resize(std::min(message.size(), expected.size()));
  }
  EXPECT_EQ(message, expected);
}

constexpr Mistake kMistakes[] = {
    {"guide: step 7", "giude: step 7", "s.yaml:3:1: unknown member 'giude'; did you mean 'guide'?"},
    {"guide: step 7", "colour: red",
     "s.yaml:3:1: unknown member 'colour'; there are: scenario, title, guide, reports, control_of, "
     "twin, profiles, workers, intents, services, faults, steps, expect"},
    {"title: The provider commits, the reply never arrives\n", "",
     "s.yaml:1:1: the member 'title' is missing"},
    {"guide: step 7", "title: again",
     "s.yaml:3:1: duplicate member 'title'; it stands already in line 2"},
    {"guide: step 7", "guide: [7]", "s.yaml:3:8: guide: expected a text"},
    {"scenario: lost-response", "scenario: lost response",
     "s.yaml:1:11: scenario: a name begins with a letter and has letters, digits and '-', 80 at "
     "most"},
    {"[R01, R43]", "[R01, bug]",
     "s.yaml:4:16: reports[1]: a field report is called R and a number: R01"},
    {"[keyed, blind]", "[kyed]",
     "s.yaml:7:12: profiles[0]: 'kyed' is unknown; did you mean 'keyed'? There are: keyed, "
     "searchable, delayed-index, blind"},
    {"[keyed, blind]", "[]",
     "s.yaml:7:11: profiles: name at least one of: keyed, searchable, delayed-index, blind"},
    {"[keyed, blind]", "[keyed, keyed]", "s.yaml:7:19: profiles[1]: 'keyed' stands there twice"},
    {"[payments]", "[emails]", "s.yaml:6:12: services[0]: 'emails' is none of: payments"},
    {"workers: 2", "workers: two", "s.yaml:8:10: workers: expected a whole number from 1 to 16"},
    {"workers: 2", "workers: 17", "s.yaml:8:10: workers: expected a whole number from 1 to 16"},
    {"action: create_payment, o", "action: create_paymnet, o",
     "s.yaml:10:15: intents.A.action: 'create_paymnet' is unknown; did you mean 'create_payment'? "
     "There are: create_payment"},
    {"params: {order_id: 818}", "params: {order: 818}",
     "s.yaml:12:69: intents.B.params: expected members, 'order_id' among them: effects are counted "
     "by it"},
    {"tenant: t2, intent_id: other", "intent_id: lost-response/A",
     "s.yaml:12:6: intents.B: tenant, action and intent_id are those of intent 'A': it would be "
     "the "
     "same intent"},
    {"  B: {", "  C: {action: create_payment, params: {order_id: 1}}\n  B: {",
     "s.yaml:12:6: intents.C: no step submits intent 'C'; add a step or take it out"},
    {"at: after_commit", "at: after_comit",
     "s.yaml:14:10: faults[0].at: 'after_comit' is unknown; did you mean 'after_commit'? There "
     "are: ..."},
    {"intent: A, worker: w1, nth", "intent: C, worker: w1, nth",
     "s.yaml:14:52: faults[0].on.intent: 'C' is none of: A, B"},
    {"worker: w1, nth: 2", "worker: w3, nth: 2",
     "s.yaml:14:63: faults[0].on.worker: 'w3' is unknown; did you mean 'w1'? There are: w1, w2"},
    {"route: create, intent: A", "route: lookup, intent: A",
     "s.yaml:14:52: faults[0].on.intent: only a create tells which intent it is about; leave out "
     "intent or write route: create"},
    {"do: hang", "do: hagn",
     "s.yaml:14:80: faults[0].do: 'hagn' is unknown; did you mean 'hang'? There are: close, "
     "reset..."},
    {"do: hang", "do: delay",
     "s.yaml:14:80: faults[0].do: delay needs its for: {delay: {for: ...}}"},
    {"do: {delay: 80ms}", "do: {delay: 80}",
     "s.yaml:16:40: faults[2].do.delay: '80' is not a duration; write a number and a unit: 250ms, "
     "1.5s, 2m, 1h"},
    {"code: 502", "code: 99",
     "s.yaml:15:48: faults[1].do.status.code: expected a whole number from 200 to 599"},
    {"times: 3", "times: 0",
     "s.yaml:14:93: faults[0].times: expected a whole number from 1 to 1000"},
    {"name: gateway", "name: fault-1",
     "s.yaml:15:5: faults[1]: the name 'fault-1' is taken by another fault"},
    {"at: after_commit", "at: response_sent",
     "s.yaml:14:5: faults[0]: fault: hang at response_sent means nothing; it can be at "
     "..."},
    {"- submit: A\n", "- submitt: A\n",
     "s.yaml:18:5: steps[0]: unknown member 'submitt'; did you mean 'submit'?"},
    {"- submit: A\n", "- submit: C\n", "s.yaml:18:13: steps[0].submit: 'C' is none of: A, B"},
    {"  - wait: 100ms\n", "  - {wait: 100ms, kill: w1}\n",
     "s.yaml:30:5: steps[6]: a step is exactly one of: submit, parallel, reconcile, status, wait, "
     "kill, restart"},
    {"  - wait: 100ms\n", "  - {wait: 100ms, expect: {calls: 0}}\n",
     "s.yaml:30:19: steps[6]: unknown member 'expect'; there are: submit, parallel, reconcile, "
     "status, wait, kill, restart"},
    {"wait: 100ms", "wait: 2m", "s.yaml:30:11: steps[6].wait: at most 1 min"},
    {"[verification_required, crashed]", "[verification_require]",
     "s.yaml:19:23: steps[0].expect.status[0]: 'verification_require' is unknown; did you mean "
     "'verification_required'? There are: pending, in_progress, unknown, succeeded, failed_final, "
     "conflict, verification_required, review, crashed"},
    {"calls: 1", "calls: -1",
     "s.yaml:19:63: steps[0].expect.calls: expected a whole number from 0 to 1000"},
    {"with: {amount_minor: 490001}", "with: 490001",
     "s.yaml:20:43: steps[1].submit.with: expected the parameters to change: {amount_minor: "
     "490001}"},
    {"- submit: {intent: B, worker: w2}", "- submit: B",
     "s.yaml:25:9: steps[2].parallel[1]: worker 'w1' has a submit in this step already; a worker "
     "does one thing at a time: write submit: {intent: A, worker: w2}"},
    {"reconcile: until_settled", "reconcile: until_setled",
     "s.yaml:26:16: steps[3].reconcile: 'until_setled' is unknown; did you mean 'until_settled'? "
     "There are: once, until_settled"},
    {"kill: w1", "kill: w9",
     "s.yaml:31:11: steps[7].kill: 'w9' is unknown; did you mean 'w1'? There are: w1, w2"},
    {"blind: {effects", "searchable: {effects",
     "s.yaml:35:3: expect: unknown member 'searchable'; there are: default, keyed, blind"},
    {"effects: {A: 1, B: 1}", "effects: {A: 1, C: 1}",
     "s.yaml:34:32: expect.default.effects.C: there is no intent 'C'; there "
     "are: "
     "A, B"},
    {"final: {A: succeeded", "final: {A: crashed",
     "s.yaml:34:47: expect.default.final.A: 'crashed' is none of: pending, in_progress, unknown, "
     "succeeded, failed_final, review"},
    {"[R01, R43]", "&list [R01, R43]",
     "s.yaml:4:10: anchors (&name) are not accepted; write the value out"},
    {"[R01, R43]", "*list", "s.yaml:4:10: the referenced anchor is not defined"},
};

INSTANTIATE_TEST_SUITE_P(All, ScenarioFileMistakeTest, testing::ValuesIn(kMistakes),
                         [](const auto& test) { return fmt::format("Number{}", test.index); });

TEST(ScenarioFileTest, AnAliasBombIsRefusedAtItsFirstAnchor) {
  std::string bomb = "a: &a [x, x]\n";
  for (char c = 'b'; c <= 'z'; ++c) {
    bomb += fmt::format("{}: &{} [*{}, *{}, *{}]\n", c, c, char(c - 1), char(c - 1), char(c - 1));
  }
  EXPECT_EQ(error_of(bomb), "s.yaml:1:4: anchors (&name) are not accepted; write the value out");
}

TEST(ScenarioFileTest, AFileThatIsTooLargeIsRefused) {
  const auto read = parse_scenario(std::string((1 << 20) + 1, '#'), "s.yaml");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::limit_exceeded);
}

TEST(ScenarioFileTest, AFolderIsReadInTheOrderOfItsFiles) {
  const auto folder = TempDir::make("onceproof-scenarios");
  ASSERT_TRUE(folder.has_value());
  for (const char* name : {"b", "a"}) {
    const auto text = changed("scenario: lost-response", fmt::format("scenario: {}", name));
    ASSERT_TRUE(write_file(folder->path() / (std::string(name) + ".yaml"), text).has_value());
  }
  ASSERT_TRUE(write_file(folder->path() / "notes.txt", "no scenario").has_value());
  const auto read = load_scenarios(folder->path());
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].name, "a");
  EXPECT_EQ((*read)[1].file, (folder->path() / "b.yaml").string());
}

TEST(ScenarioFileTest, TwoFilesMayNotHaveOneName) {
  const auto folder = TempDir::make("onceproof-scenarios");
  ASSERT_TRUE(folder.has_value());
  ASSERT_TRUE(write_file(folder->path() / "a.yaml", kWhole).has_value());
  ASSERT_TRUE(write_file(folder->path() / "b.yaml", kWhole).has_value());
  const auto read = load_scenarios(folder->path());
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().message,
            fmt::format("{0}/b.yaml: the name 'lost-response' is taken by {0}/a.yaml",
                        folder->path().string()));
}

TEST(ScenarioFileTest, AFolderWithoutScenariosIsAnError) {
  const auto folder = TempDir::make("onceproof-scenarios");
  ASSERT_TRUE(folder.has_value());
  EXPECT_EQ(load_scenarios(folder->path()).error().code, ErrorCode::not_found);
  EXPECT_EQ(load_scenarios(folder->path() / "none").error().code, ErrorCode::io_failed);
}

}  // namespace
}  // namespace onceproof::scenarios
