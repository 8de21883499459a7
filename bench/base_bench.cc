// What the ground costs, each beside its baseline in the same run: read ratios, not figures.
#include <benchmark/benchmark.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "base/sqlite.h"
#include "bench/typical_request.h"

namespace onceproof {
namespace {

void parse_with_nlohmann(benchmark::State& state) {
  const std::string text = typical_request();
  for (auto _ : state) benchmark::DoNotOptimize(Json::parse(text));
}
BENCHMARK(parse_with_nlohmann);

void parse_strictly(benchmark::State& state) {
  const std::string text = typical_request();
  for (auto _ : state) benchmark::DoNotOptimize(parse_json(text));
}
BENCHMARK(parse_strictly);

void write_line(benchmark::State& state) {
  const Json value = Json::parse(typical_request());
  for (auto _ : state) benchmark::DoNotOptimize(to_line(value));
}
BENCHMARK(write_line);

void sha256_of_a_request(benchmark::State& state) {
  const std::string text = typical_request();
  for (auto _ : state) benchmark::DoNotOptimize(sha256_hex(text));
}
BENCHMARK(sha256_of_a_request);

void seeded_random(benchmark::State& state) {
  SeededRandom random(1);
  for (auto _ : state) benchmark::DoNotOptimize(random.next());
}
BENCHMARK(seeded_random);

Result<void> insert_row(Database& database, Statement& insert, const std::string& text) {
  auto transaction = Transaction::begin(database);
  if (!transaction) return tl::unexpected(transaction.error());
  insert.reset();
  if (auto done = insert.bind(1, text).step(); !done) return tl::unexpected(done.error());
  return transaction->commit();
}

// One row, one commit: what a journal pays at least for each promise.
void commit_one_row(benchmark::State& state, Durability durability) {
  const auto folder = TempDir::make("onceproof-bench").value();
  auto database =
      Database::open(folder.path() / "bench.db", durability, std::chrono::seconds(1)).value();
  static_cast<void>(database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, text TEXT) STRICT"));
  auto insert = database.prepare("INSERT INTO t(text) VALUES(?1)").value();
  const std::string text = typical_request();
  for (auto _ : state) {
    if (auto done = insert_row(database, insert, text); !done) {
      state.SkipWithError(done.error().message.c_str());
      break;
    }
  }
}
BENCHMARK_CAPTURE(commit_one_row, survives_power_loss, Durability::full);
BENCHMARK_CAPTURE(commit_one_row, survives_kill, Durability::fast);

}  // namespace
}  // namespace onceproof
