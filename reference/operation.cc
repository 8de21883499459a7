#include "reference/operation.h"

#include <array>

#include "base/check.h"

namespace onceproof {
namespace {

// In the order of the enum; the texts are the guide's, and the schema's CHECK names the same five.
constexpr std::array<std::string_view, 5> kTexts{"pending", "in_progress", "unknown", "succeeded",
                                                 "failed_final"};

}  // namespace

std::string_view to_text(Status status) {
  const auto index = static_cast<std::size_t>(status);
  CHECK(index < kTexts.size());
  return kTexts[index];
}

std::optional<Status> parse_status(std::string_view text) {
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    if (kTexts[i] == text) return static_cast<Status>(i);
  }
  return std::nullopt;
}

}  // namespace onceproof
