// The last words of a process: reads a descriptor for as long as it is open, whoever else is busy,
// and keeps the last 4 KiB. Invariant: the writer never waits for us, however much it writes.
#pragma once

#include <string>
#include <thread>

#include "base/file.h"
#include "base/guarded.h"

namespace onceproof::scenarios {

class StderrRing {
 public:
  static constexpr std::size_t kBytes = 4 << 10;

  // Reads `fd`, which outlives this, in a thread of its own.
  explicit StderrRing(int fd);
  ~StderrRing();

  // What there is so far. Thread-safe.
  std::string tail();
  // Waits at most 200 ms for the end of the stream; for the last words of the dead.
  void finish();

 private:
  void run();

  int fd_;
  UniqueFd stop_;   // an eventfd: readable once we are to stop
  UniqueFd ended_;  // an eventfd: readable once the stream has ended
  Guarded<std::string> bytes_;
  std::jthread thread_;  // last: starts when all else is there
};

}  // namespace onceproof::scenarios
