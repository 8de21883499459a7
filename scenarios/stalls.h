// How disturbed the machine was: a thread that asks to be woken every 10 ms and notes how late it
// was. On a machine that stalls, a right executor can look wrong; the runner repeats such cells
// (ARCHITECTURE.md).
#pragma once

#include <deque>
#include <thread>

#include "base/clock.h"
#include "base/guarded.h"

namespace onceproof::scenarios {

class StallWatch {
 public:
  explicit StallWatch(Clock& clock);
  // The longest lateness that ended at `start` or later; one that has not ended counts as long as
  // it is. Thread-safe.
  Milliseconds longest_since(MonotonicTime start);

 private:
  struct Stall {
    MonotonicTime at;  // its end
    Milliseconds length;
  };
  struct State {
    MonotonicTime due;         // when the thread wants to be awake next
    std::deque<Stall> stalls;  // the last 10,000
  };
  void run(std::stop_token stop);

  Clock& clock_;
  Guarded<State> state_;
  std::jthread thread_;  // last: starts when all else is there
};

}  // namespace onceproof::scenarios
