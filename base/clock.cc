#include "base/clock.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <ctime>

namespace onceproof {

MonotonicTime RealClock::monotonic() const {
  return MonotonicTime{std::chrono::steady_clock::now().time_since_epoch()};
}

CivilTime RealClock::civil() const {
  return CivilTime{std::chrono::duration_cast<Milliseconds>(
      std::chrono::system_clock::now().time_since_epoch())};
}

bool RealClock::wait_until(MonotonicTime when, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  const std::chrono::steady_clock::time_point deadline{when.time_since_epoch()};
  changed.wait_until(lock, stop, deadline, [] { return false; });
  return !stop.stop_requested();
}

VirtualClock::VirtualClock(CivilTime start) : start_(start) {}

MonotonicTime VirtualClock::monotonic() const {
  std::scoped_lock lock(mutex_);
  return now_;
}

CivilTime VirtualClock::civil() const {
  std::scoped_lock lock(mutex_);
  return start_ + std::chrono::duration_cast<Milliseconds>(now_.time_since_epoch());
}

bool VirtualClock::wait_until(MonotonicTime when, std::stop_token stop) {
  if (stop.stop_requested()) return false;
  std::scoped_lock lock(mutex_);
  if (when > now_) now_ = when;
  return true;
}

void VirtualClock::advance(std::chrono::nanoseconds by) {
  std::scoped_lock lock(mutex_);
  now_ += by;
}

std::string to_rfc3339(CivilTime time) {
  const auto ms = time.time_since_epoch().count();
  auto seconds = static_cast<std::time_t>(ms / 1000);
  auto rest = ms % 1000;
  if (rest < 0) {
    rest += 1000;
    --seconds;
  }
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     rest);
}

std::string to_text(Milliseconds duration) {
  const auto ms = duration.count();
  const auto value = static_cast<double>(ms);
  if (ms < 1000) return fmt::format("{} ms", ms);
  if (ms < 60'000) return fmt::format("{:.3g} s", value / 1000.0);
  if (ms < 3'600'000) return fmt::format("{:.3g} min", value / 60'000.0);
  if (ms < 360'000'000) return fmt::format("{:.3g} h", value / 3'600'000.0);
  return fmt::format("{:.0f} h", value / 3'600'000.0);  // .3g would write 1e+03
}

Result<Milliseconds> parse_duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    double ms;
  };
  static constexpr std::array kUnits{Unit{"ms", 1.0}, Unit{"s", 1000.0}, Unit{"m", 60'000.0},
                                     Unit{"h", 3'600'000.0}};
  const auto digits = text.find_first_not_of("0123456789.");
  if (digits != 0 && digits != std::string_view::npos) {
    for (const auto& unit : kUnits) {
      if (text.substr(digits) != unit.name) continue;
      const std::string number(text.substr(0, digits));
      char* end = nullptr;
      const double value = std::strtod(number.c_str(), &end);
      const double ms = value * unit.ms;
      if (end != number.c_str() + number.size() || ms > 1e12) break;
      return Milliseconds{std::llround(ms)};
    }
  }
  return fail(
      ErrorCode::parse_failed,
      fmt::format("'{}' is not a duration; write a number and a unit: 250ms, 1.5s, 2m, 1h", text));
}

}  // namespace onceproof
