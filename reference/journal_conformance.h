// For tests: every journal behind one fixture. A new implementation is one more row in
// kImplementations. The suites: journal_conformance_test.cc, journal_review_test.cc.
#pragma once

#include <gtest/gtest.h>

#include "base/file.h"
#include "reference/journal_samples.h"
#include "reference/memory_journal.h"
#include "reference/sqlite_journal.h"

namespace onceproof {

using namespace std::chrono_literals;

// Several doors to one journal: for SQLite, connections of their own to one file.
class Doors {
 public:
  virtual ~Doors() = default;
  virtual Journal& door(std::size_t number) = 0;
  virtual TerminalRows& rows() = 0;
};

class MemoryDoors final : public Doors {
 public:
  Journal& door(std::size_t) override { return journal_; }
  TerminalRows& rows() override { return journal_; }

 private:
  MemoryJournal journal_;
};

class SqliteDoors final : public Doors {
 public:
  explicit SqliteDoors(std::size_t count) {
    SqliteJournalOptions options;
    options.durability = Durability::fast;
    options.max_readers = 2;
    for (std::size_t i = 0; i < count; ++i) {
      journals_.push_back(SqliteJournal::open(dir_.path() / "journal.db", options).value());
    }
  }
  Journal& door(std::size_t number) override { return *journals_[number % journals_.size()]; }
  TerminalRows& rows() override { return *journals_[0]; }

 private:
  TempDir dir_ = std::move(TempDir::make("onceproof-journal").value());
  std::vector<std::unique_ptr<SqliteJournal>> journals_;
};

struct Implementation {
  const char* name;
  std::unique_ptr<Doors> (*make)();

  friend void PrintTo(const Implementation& self, std::ostream* out) { *out << self.name; }
};
inline constexpr Implementation kImplementations[] = {
    {"Memory", []() -> std::unique_ptr<Doors> { return std::make_unique<MemoryDoors>(); }},
    {"Sqlite", []() -> std::unique_ptr<Doors> { return std::make_unique<SqliteDoors>(1); }},
    {"SqliteThreeConnections",
     []() -> std::unique_ptr<Doors> { return std::make_unique<SqliteDoors>(3); }},
};

class JournalTest : public ::testing::TestWithParam<Implementation> {
 protected:
  Journal& journal() { return doors_->door(next_door_++); }  // whatever door: it is one journal
  Journal& door(std::size_t number) { return doors_->door(number); }

  Operation registered(int n = 1) {
    return journal().register_operation(sample(n), "w1").value().operation;
  }
  Operation claimed(int n = 1) {
    return journal().register_and_claim(sample(n), "w1", at(30s)).value().operation;
  }
  Operation unknown(int n = 1) {
    claimed(n);
    return journal().mark_unknown(key(n), 1, "timeout", at(10s), at(5s), "w1").value();
  }
  Operation in_review(int n = 1) {
    unknown(n);
    return journal().escalate(key(n), 1, "unknown_after", at(900s), "w1").value();
  }
  Operation succeeded(int n = 1) {
    claimed(n);
    return journal()
        .mark_succeeded(key(n), 1, {"pay_1", {{"status", "ok"}}}, at(2s), "w1")
        .value()
        .operation;
  }
  Operation failed(int n = 1) {
    claimed(n);
    return journal().mark_failed_final(key(n), 1, {"card_declined"}, at(2s), "w1").value();
  }
  Operation load(int n = 1) { return journal().load(key(n)).value(); }
  std::vector<Event> events(int n = 1) { return journal().events(key(n)).value(); }
  Event last_event(int n = 1) { return events(n).back(); }

  // Runs a write that must be refused, and sees that nothing happened.
  template <typename Write>
  void expect_refused(ErrorCode code, Write write, int n = 1) {
    const auto before = load(n);
    const auto count = events(n).size();
    const auto done = write(journal());
    ASSERT_FALSE(done) << "not refused";
    EXPECT_EQ(done.error().code, code) << done.error().message;
    EXPECT_EQ(done.error().certainty(), Certainty::definite);
    EXPECT_EQ(describe(load(n)), describe(before));
    EXPECT_EQ(events(n).size(), count);
  }
  static ClaimRequest claim_of(int n, std::int64_t expected, std::chrono::seconds now = 60s) {
    return {key(n), expected, "w2", at(now), at(now + 30s)};
  }

 private:
  std::unique_ptr<Doors> doors_ = GetParam().make();
  std::size_t next_door_ = 0;
};

inline std::string implementation_name(const ::testing::TestParamInfo<Implementation>& info) {
  return info.param.name;
}

}  // namespace onceproof
