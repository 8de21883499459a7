// What a benchmark is for here: a ratio of two of its figures from one run, because the machine is
// shared and its figures are not comparable between runs. Each program of bench/ ends with the
// table of its ratios, medians of the repetitions, beside what they should be at least.
#pragma once

namespace onceproof {

// Declares, at namespace scope, a line of that table: the items a second of the benchmark
// `measured`, divided by those of `baseline`. `at_least` 0: only reported.
struct Ratio {
  Ratio(const char* measured, const char* baseline, double at_least);
};

// The same for a counter of one benchmark, which should be `at_most`.
struct Limit {
  Limit(const char* benchmark, const char* counter, double at_most);
};

}  // namespace onceproof
