// Time as a seam. Monotonic time (for waiting), civil time (for records that outlive a process) and
// virtual time are different types, so that they cannot be mixed. Only cli/ and tests choose the
// real clock.
#pragma once

#include <chrono>
#include <mutex>
#include <stop_token>
#include <string>

#include "base/error.h"

namespace onceproof {

using Milliseconds = std::chrono::milliseconds;

struct MonotonicScale {  // a clock without now(): time comes from a Clock only
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicScale>;
  static constexpr bool is_steady = true;
};
struct CivilScale {  // UTC, milliseconds since 1970-01-01
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<CivilScale>;
  static constexpr bool is_steady = false;
};
using MonotonicTime = MonotonicScale::time_point;
using CivilTime = CivilScale::time_point;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonotonicTime monotonic() const = 0;
  virtual CivilTime civil() const = 0;
  // Blocks until `when` or until `stop` is requested. True: the time was reached.
  virtual bool wait_until(MonotonicTime when, std::stop_token stop) = 0;

  bool wait_for(Milliseconds duration, std::stop_token stop = {}) {
    return wait_until(monotonic() + duration, std::move(stop));
  }
};

// The machine's clocks. Thread-safe.
class RealClock final : public Clock {
 public:
  MonotonicTime monotonic() const override;
  CivilTime civil() const override;
  bool wait_until(MonotonicTime when, std::stop_token stop) override;
};

// Stands still until it is advanced; a wait advances it at once. Thread-safe.
class VirtualClock final : public Clock {
 public:
  explicit VirtualClock(CivilTime start = CivilTime{
                            Milliseconds{1'767'225'600'000}});  // 2026-01-01
  MonotonicTime monotonic() const override;
  CivilTime civil() const override;
  bool wait_until(MonotonicTime when, std::stop_token stop) override;
  void advance(std::chrono::nanoseconds by);

 private:
  mutable std::mutex mutex_;
  CivilTime start_;
  MonotonicTime now_{};
};

// "2026-12-01T06:05:36.123Z"
std::string to_rfc3339(CivilTime time);
// "250 ms", "1.5 s", "15 min", "24 h"; three digits at most, for people.
std::string to_text(Milliseconds duration);
// "250ms", "1.5s", "2m", "1h"; the unit is required. Errors: parse_failed.
Result<Milliseconds> parse_duration(std::string_view text);

}  // namespace onceproof
