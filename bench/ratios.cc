#include "bench/ratios.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

namespace onceproof {
namespace {

struct RatioLine {
  std::string measured, baseline;
  double at_least = 0;
};
struct LimitLine {
  std::string benchmark, counter;
  double at_most = 0;
};

// Filled before main by the declarations of the other files.
std::vector<RatioLine>& ratio_lines() {
  static std::vector<RatioLine> lines;
  return lines;
}
std::vector<LimitLine>& limit_lines() {
  static std::vector<LimitLine> lines;
  return lines;
}

// Passes everything on to the console and keeps the medians.
class MedianReporter : public benchmark::ConsoleReporter {
 public:
  using ConsoleReporter::ConsoleReporter;

  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.error_occurred || run.aggregate_name != "median") continue;
      for (const auto& [name, counter] : run.counters) {
        medians_[run.run_name.function_name][name] = counter.value;
      }
    }
  }

  // The lines whose benchmarks ran (--benchmark_filter may leave some out).
  void print_table() const {
    fmt::print("\n");
    for (const auto& line : ratio_lines()) {
      const auto measured = find(line.measured, "items_per_second");
      const auto baseline = find(line.baseline, "items_per_second");
      if (measured == nullptr || baseline == nullptr) continue;
      const double ratio = *measured / *baseline;
      const auto wanted = line.at_least > 0 ? fmt::format(">= {:.2f}", line.at_least) : "";
      fmt::print("{:10.2f} {:>9} {:5} {} : {}\n", ratio, wanted,
                 ratio < line.at_least ? "BELOW" : "", line.measured, line.baseline);
    }
    for (const auto& line : limit_lines()) {
      const auto value = find(line.benchmark, line.counter);
      if (value == nullptr) continue;
      fmt::print("{:10.2f} {:>9} {:5} {}, {}\n", *value, fmt::format("<= {:.2f}", line.at_most),
                 *value > line.at_most ? "ABOVE" : "", line.benchmark, line.counter);
    }
  }

 private:
  const double* find(const std::string& benchmark, const std::string& counter) const {
    const auto found = medians_.find(benchmark);
    if (found == medians_.end()) return nullptr;
    const auto value = found->second.find(counter);
    return value == found->second.end() ? nullptr : &value->second;
  }

  std::map<std::string, std::map<std::string, double>> medians_;
};

int run(int argc, char** argv) {
  // Later flags win, so these are defaults. Interleaved: a slow minute of the machine hits both
  // sides of a ratio.
  std::vector<std::string> texts{argv[0], "--benchmark_repetitions=5", "--benchmark_min_time=0.2",
                                 "--benchmark_enable_random_interleaving=true",
                                 "--benchmark_display_aggregates_only=true"};
  texts.insert(texts.end(), argv + 1, argv + argc);
  std::vector<char*> arguments;
  for (auto& text : texts) arguments.push_back(text.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  MedianReporter reporter(benchmark::ConsoleReporter::OO_None);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.print_table();
  benchmark::Shutdown();
  return 0;
}

}  // namespace

Ratio::Ratio(const char* measured, const char* baseline, double at_least) {
  ratio_lines().push_back({measured, baseline, at_least});
}

Limit::Limit(const char* benchmark, const char* counter, double at_most) {
  limit_lines().push_back({benchmark, counter, at_most});
}

}  // namespace onceproof

int main(int argc, char** argv) {
  return onceproof::run(argc, argv);
}
