#include "scenarios/stalls.h"

#include <algorithm>

namespace onceproof::scenarios {
namespace {

constexpr Milliseconds kTick{10};
constexpr Milliseconds kNoticed{20};  // a scheduler's ordinary lateness is not worth a note
constexpr std::size_t kKept = 10'000;

Milliseconds lateness(MonotonicTime due, MonotonicTime now) {
  return std::chrono::duration_cast<Milliseconds>(std::max(now - due, MonotonicTime::duration{0}));
}

}  // namespace

StallWatch::StallWatch(Clock& clock)
    : clock_(clock),
      state_(State{clock.monotonic() + kTick, {}}),
      thread_([this](std::stop_token stop) { run(std::move(stop)); }) {}

void StallWatch::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    const auto due = clock_.monotonic() + kTick;
    state_.lock()->due = due;
    clock_.wait_until(due, stop);
    const auto now = clock_.monotonic();
    const auto late = lateness(due, now);
    if (late < kNoticed) continue;
    auto state = state_.lock();
    state->stalls.push_back({now, late});
    if (state->stalls.size() > kKept) state->stalls.pop_front();
  }
}

Milliseconds StallWatch::longest_since(MonotonicTime start) {
  auto state = state_.lock();
  // The thread may still be asleep in a stall that we have just woken from.
  Milliseconds longest = lateness(state->due, clock_.monotonic());
  for (auto it = state->stalls.rbegin(); it != state->stalls.rend() && it->at >= start; ++it) {
    longest = std::max(longest, it->length);
  }
  return longest;
}

}  // namespace onceproof::scenarios
