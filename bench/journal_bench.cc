// What the journal costs beside bare SQLite doing the same statements (bench/bare_journal.h), all
// of it durable: WAL, synchronous=FULL. reference/sqlite_journal_test.cc kills and cuts the power
// of this very configuration: no figure here is bought with durability.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/check.h"
#include "bench/bare_journal.h"
#include "bench/ratios.h"
#include "reference/sqlite_journal.h"

namespace onceproof {
namespace {

using Clock = std::chrono::steady_clock;

constexpr CivilTime kNow{Milliseconds{1'767'225'600'000}};  // 2026-01-01
constexpr CivilTime kLeaseUntil = kNow + Milliseconds{30'000};
constexpr std::size_t kCallers = 64;

struct Folder {
  TempDir folder = TempDir::make("onceproof-bench").value();
  std::filesystem::path file() const { return folder.path() / "journal.db"; }
};

// One operation from the intent to its end: the two transactions that the guide asks for.
void run_operation(Journal& journal, const Operation& operation) {
  CHECK(journal.register_and_claim(operation, "w1", kLeaseUntil).value().created);
  const Journal::Success success{"pay_0123456789", {{"status", "succeeded"}}, {}};
  CHECK(journal.mark_succeeded(operation.operation_key, 1, success, kNow, "w1").has_value());
}

void journal_one_thread(benchmark::State& state) {
  const Folder folder;
  const auto journal = SqliteJournal::open(folder.file()).value();
  std::size_t n = 0;
  for (auto _ : state) {
    ++n;
    run_operation(*journal, bench_operation(ordered_key(n), n));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(journal_one_thread)->UseRealTime();

void bare_one_thread(benchmark::State& state) {
  const Folder folder;
  BareJournal bare(folder.file());
  std::size_t n = 0;
  for (auto _ : state) {
    ++n;
    const auto operation = bench_operation(ordered_key(n), n);
    bare.begin();
    bare.register_and_claim(operation);
    bare.commit();
    bare.begin();
    bare.record_success(operation.operation_key);
    bare.commit();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(bare_one_thread)->UseRealTime();

Milliseconds::rep percentile_us(std::vector<Clock::duration>& times, double share) {
  const auto nth =
      times.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), nth, times.end());
  return std::chrono::duration_cast<std::chrono::microseconds>(*nth).count();
}

// 64 callers, each waiting for its own operation before it begins the next. The times are of one
// call to the journal, of which an operation makes two.
void journal_64_threads(benchmark::State& state) {
  constexpr std::size_t kEach = 100;
  std::vector<Clock::duration> times;
  std::size_t number = 0;
  const Folder folder;
  const auto journal = SqliteJournal::open(folder.file()).value();
  for (auto _ : state) {
    std::vector<std::vector<Operation>> work(kCallers);
    for (std::size_t i = 0; i < kCallers * kEach; ++i) {
      ++number;
      work[i % kCallers].push_back(bench_operation(ordered_key(number), number));
    }
    std::vector<std::vector<Clock::duration>> waits(kCallers);
    const auto caller = [&](std::size_t me) {
      for (const auto& operation : work[me]) {
        const auto start = Clock::now();
        run_operation(*journal, operation);
        waits[me].push_back((Clock::now() - start) / 2);
      }
    };
    const auto start = Clock::now();
    std::vector<std::jthread> callers;
    for (std::size_t i = 0; i < kCallers; ++i) callers.emplace_back(caller, i);
    callers.clear();
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - start).count());
    for (const auto& wait : waits) times.insert(times.end(), wait.begin(), wait.end());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kCallers * kEach));
  state.counters["p99_ms"] = static_cast<double>(percentile_us(times, 0.99)) / 1000;
  state.counters["longest_ms"] = static_cast<double>(percentile_us(times, 1.0)) / 1000;
}
BENCHMARK(journal_64_threads)->UseManualTime()->Unit(benchmark::kMillisecond);

// The most that 64 callers could get: as many rows in a transaction, by one thread without them.
void bare_batches_of_64(benchmark::State& state) {
  const Folder folder;
  BareJournal bare(folder.file());
  std::size_t n = 0;
  std::vector<Operation> batch;
  for (auto _ : state) {
    batch.clear();
    for (std::size_t i = 0; i < kCallers; ++i) {
      ++n;
      batch.push_back(bench_operation(ordered_key(n), n));
    }
    bare.begin();
    for (const auto& operation : batch) bare.register_and_claim(operation);
    bare.commit();
    bare.begin();
    for (const auto& operation : batch) bare.record_success(operation.operation_key);
    bare.commit();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kCallers));
}
BENCHMARK(bare_batches_of_64)->UseRealTime();

const Ratio kOneThread("journal_one_thread", "bare_one_thread", 0.9);
const Ratio kGroupGain("journal_64_threads", "journal_one_thread", 5);
const Ratio kGroupCost("journal_64_threads", "bare_batches_of_64", 0.8);
const Limit kNoStarvation("journal_64_threads", "p99_ms", 25);

// A repeat of what has ended: the answer comes from the journal.
constexpr std::size_t kFinished = 10'000;

std::vector<Operation> finish_operations(const std::filesystem::path& file) {
  BareJournal bare(file);
  std::vector<Operation> operations;
  bare.begin();
  for (std::size_t n = 0; n < kFinished; ++n) {
    operations.push_back(bench_operation(ordered_key(n), n));
    bare.register_and_claim(operations.back());
    bare.record_success(operations.back().operation_key);
  }
  bare.commit();
  return operations;
}

void journal_replay(benchmark::State& state) {
  const Folder folder;
  const auto operations = finish_operations(folder.file());
  const auto journal = SqliteJournal::open(folder.file()).value();
  std::size_t n = 0;
  for (auto _ : state) {
    n = (n + 7919) % kFinished;
    const auto& sought = operations[n];
    const auto found = journal->find(sought.tenant, sought.action_type, sought.intent_id).value();
    CHECK(found->status == Status::succeeded);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(journal_replay);

void bare_primary_key_lookup(benchmark::State& state) {
  const Folder folder;
  const auto operations = finish_operations(folder.file());
  BareJournal bare(folder.file());
  std::size_t n = 0;
  for (auto _ : state) {
    n = (n + 7919) % kFinished;
    benchmark::DoNotOptimize(bare.look_up(operations[n].operation_key));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(bare_primary_key_lookup);

const Ratio kReplay("journal_replay", "bare_primary_key_lookup", 0.7);

// Why keys are ordered in time: a million rows, then durable batches of 256 more. The intent ids
// are ordered in both, so the difference is the key's.
template <typename MakeKey>
void insert_behind_a_million(benchmark::State& state, MakeKey make_key) {
  constexpr std::size_t kRows = 1'000'000;
  constexpr std::size_t kBatch = 256;
  const Folder folder;
  BareJournal bare(folder.file());
  bare.fill(kRows, make_key);
  std::size_t n = kRows;
  for (auto _ : state) {
    bare.begin();
    for (std::size_t i = 0; i < kBatch; ++i) {
      ++n;
      bare.register_and_claim(bench_operation(make_key(n), n));
    }
    bare.commit();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}

void ordered_keys_at_a_million(benchmark::State& state) {
  insert_behind_a_million(state, ordered_key);
}
void random_keys_at_a_million(benchmark::State& state) {
  insert_behind_a_million(state, [](std::size_t) { return random_key(); });
}
// A fixed number of iterations, so that the million is written once a repetition.
BENCHMARK(ordered_keys_at_a_million)->UseRealTime()->Iterations(100)->Repetitions(3);
BENCHMARK(random_keys_at_a_million)->UseRealTime()->Iterations(100)->Repetitions(3);

const Ratio kKeyOrder("ordered_keys_at_a_million", "random_keys_at_a_million", 0);

}  // namespace
}  // namespace onceproof
