// What it costs to know that two requests are the same, beside what anybody pays who reads JSON.
#include <benchmark/benchmark.h>

#include "base/digest.h"
#include "base/json.h"
#include "bench/ratios.h"
#include "bench/typical_request.h"
#include "reference/canonical_json.h"
#include "reference/policy.h"
#include "reference/request_hash.h"

namespace onceproof {
namespace {

void canonicalise_and_hash(benchmark::State& state) {
  const std::string text = typical_request();
  for (auto _ : state) {
    const Json value = parse_json(text).value();
    benchmark::DoNotOptimize(sha256_hex(canonical_json(value).value()));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(canonicalise_and_hash);

// The same, and a digest for each field: what an executor does with a submit.
void request_hash_of_an_intent(benchmark::State& state) {
  const std::string text = typical_request();
  const ToolPolicy policy;
  for (auto _ : state) {
    const Json value = parse_json(text).value();
    benchmark::DoNotOptimize(
        make_request_hash("create_payment", value, policy, policy.hash_version, "op_1").value());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(request_hash_of_an_intent);

void parse_and_dump(benchmark::State& state) {
  const std::string text = typical_request();
  for (auto _ : state) benchmark::DoNotOptimize(Json::parse(text).dump());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(parse_and_dump);

void sha256_alone(benchmark::State& state) {
  const std::string text = typical_request();
  for (auto _ : state) benchmark::DoNotOptimize(sha256_hex(text));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(sha256_alone);

const Ratio kBesideParsing("canonicalise_and_hash", "parse_and_dump", 0);
const Ratio kBesideHashing("canonicalise_and_hash", "sha256_alone", 0);
const Ratio kWholeIntent("request_hash_of_an_intent", "parse_and_dump", 0);

}  // namespace
}  // namespace onceproof
