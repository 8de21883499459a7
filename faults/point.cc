#include "faults/point.h"

#include <algorithm>
#include <array>

namespace onceproof::faults {
namespace {

constexpr std::array<std::string_view, 6> kPoints{
    "connect",      "request_received",    "before_commit",
    "after_commit", "response_first_byte", "response_sent"};

}  // namespace

std::string_view to_text(Point point) {
  return kPoints[static_cast<std::size_t>(point)];
}

std::optional<Point> parse_point(std::string_view text) {
  const auto it = std::ranges::find(kPoints, text);
  if (it == kPoints.end()) return std::nullopt;
  return static_cast<Point>(it - kPoints.begin());
}

std::span<const std::string_view> point_names() {
  return kPoints;
}

}  // namespace onceproof::faults
