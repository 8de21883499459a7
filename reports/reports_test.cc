// Every format of one small run, made by hand under a fixed clock; the files in golden/ are exact.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "reports/console.h"
#include "reports/json.h"
#include "reports/junit.h"
#include "reports/report_folder.h"

namespace onceproof::reports {
namespace {

using scenarios::VerdictKind;

MonotonicTime at(int ms) {
  return MonotonicTime{Milliseconds{ms}};
}

scenarios::CellResult make_cell(const std::string& profile, VerdictKind kind) {
  scenarios::CellResult cell;
  cell.scenario = "lost-response";
  cell.service = "payments";
  cell.profile = profile;
  cell.id = "payments/lost-response/" + profile;
  cell.duration = Milliseconds{1'250};
  cell.verdict.kind = kind;
  cell.history.scenario.title = "The <reply> is \x1b[31mlost";
  cell.history.scenario.file = "lost-response.yaml";
  cell.history.start = at(1'000);
  cell.history.intents["A"] = {"A", "t1", "i", "create_payment", Json{{"order_id", "817"}}, "817"};
  return cell;
}

void add_story(scenarios::CellResult& cell) {
  auto& history = cell.history;
  scenarios::Exchange submit;
  submit.worker = "w1";
  submit.intent = "A";
  submit.params = Json{{"order_id", "817"}};
  submit.sent_at = at(1'010);
  submit.answered_at = at(1'320);
  submit.answer = scenarios::Answer{"failed_final", "", nullptr, "timeout", nullptr};
  history.exchanges.push_back(submit);
  fakes::WireEntry entry;
  entry.number = 1;
  entry.route = "create";
  entry.method = "POST";
  entry.target = "/w1/payments";
  entry.key = "op_1";
  entry.received_at = at(1'015);
  entry.committed_at = at(1'016);
  entry.effect_ids = {"pay_000001"};
  history.wire.push_back(entry);
  faults::FaultRecord fault;
  fault.fault.name = "fault-1";
  fault.firings.push_back(
      {"fault-1", faults::Point::after_commit, {.kind = faults::ActionKind::hang}, 1, at(1'017)});
  history.faults.push_back(fault);
  history.effects.emplace_back();
  scenarios::Violation violation;
  violation.invariant = "failure-is-real";
  violation.intent = "A";
  violation.observed = "w1 answered failed_final, but effect pay_000001 <exists>";
  violation.inferred = "a time-out was taken for a failure";
  violation.remedy = "record unknown";
  violation.requests = {1};
  cell.verdict.violations.push_back(violation);
}

RunReport sample() {
  RunReport report;
  report.version = "0.1.0";
  report.command = "onceproof";
  report.sut = "reference";
  report.mutant = "timeout-is-failure";
  report.seed = 7;
  report.started_at = CivilTime{Milliseconds{1'767'225'600'000}};
  report.duration = Milliseconds{2'500};
  report.cells.push_back(make_cell("keyed", VerdictKind::violated));
  add_story(report.cells.back());
  report.cells.push_back(make_cell("searchable", VerdictKind::pass));
  report.cells.push_back(make_cell("delayed-index", VerdictKind::inconclusive));
  report.cells.back().verdict.reason = "fault fault-1 was armed but never fired";
  report.cells.push_back(make_cell("blind", VerdictKind::unsupported));
  report.cells.back().verdict.reason = "no 'reconcile'";
  return report;
}

// Compiled with -DONCEPROOF_UPDATE_GOLDEN it writes the file instead.
void expect_golden(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::path(ONCEPROOF_SOURCE_DIR) / "reports/golden" / name;
#ifdef ONCEPROOF_UPDATE_GOLDEN
  ASSERT_TRUE(write_file(path, text).has_value());
#endif
  const auto golden = read_file(path);
  ASSERT_TRUE(golden.has_value()) << golden.error().message;
  EXPECT_EQ(text, *golden) << "to accept: build with -DONCEPROOF_UPDATE_GOLDEN and run again";
}

TEST(ReportsTest, JsonIsExact) {
  expect_golden("results.json", to_json(sample()).dump(2) + "\n");
}

TEST(ReportsTest, JunitIsExact) {
  expect_golden("junit.xml", to_junit(sample()));
}

TEST(ReportsTest, ConsoleIsExact) {
  const auto report = sample();
  std::string text;
  for (const auto& cell : report.cells) {
    text += progress_line(cell, 1, report.cells.size()) + "\n" + explain(report, cell, false);
  }
  expect_golden("console.txt", text + overview(report, false));
}

TEST(ReportsTest, WithoutColourNoEscapeSequenceIsPrinted) {
  const auto report = sample();
  for (const auto& cell : report.cells) {
    EXPECT_EQ(explain(report, cell, false).find('\x1b'), std::string::npos);
  }
  EXPECT_NE(explain(report, report.cells[0], true).find("\x1b[31"), std::string::npos);
}

TEST(ReportsTest, WhatASutSaysReachesNoTerminalRaw) {
  auto report = sample();
  report.cells[0].verdict.violations[0].observed = "answered '\x1b[2J'";
  report.cells[3].verdict.reason = "the SUT named the capability '\x1b[2J'";
  for (const auto& cell : report.cells) {
    EXPECT_EQ(explain(report, cell, false).find('\x1b'), std::string::npos);
  }
}

TEST(ReportsTest, TheReproduceLineNamesAFileByItsPathAndQuotesIt) {
  auto report = sample();
  report.mutant.clear();
  report.manifest = "my sut.yaml";
  auto cell = make_cell("keyed", VerdictKind::violated);
  cell.history.scenario.file = "stories/it's lost.yaml";
  EXPECT_EQ(reproduce_line(report, cell),
            "onceproof run 'stories/it'\\''s lost.yaml' --filter payments/lost-response/keyed "
            "--seed 7 --sut 'my sut.yaml'");
}

TEST(ReportsTest, TheFolderHoldsAllAndLatestPointsToIt) {
  const auto temp = TempDir::make("onceproof-reports-test");
  ASSERT_TRUE(temp.has_value());
  const auto first = write_report_folder(sample(), temp->path() / "out");
  const auto second = write_report_folder(sample(), temp->path() / "out");
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->filename(), "2026-01-01T00-00-00-seed-7");
  EXPECT_EQ(second->filename(), "2026-01-01T00-00-00-seed-7-2");
  EXPECT_EQ(std::filesystem::read_symlink(temp->path() / "out/latest"), second->filename());
  for (const char* name : {"results.json", "junit.xml", "payments.lost-response.keyed.txt"}) {
    EXPECT_TRUE(std::filesystem::exists(*second / name)) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(*second / "payments.lost-response.searchable.txt"));
}

TEST(ReportsTest, AFolderThatCannotBeMadeIsAnErrorThatNamesIt) {
  const auto written = write_report_folder(sample(), "/proc/nowhere/out");
  ASSERT_FALSE(written.has_value());
  EXPECT_NE(written.error().message.find("/proc/nowhere/out"), std::string::npos);
}

}  // namespace
}  // namespace onceproof::reports
