#include "reference/retention.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace onceproof {
namespace {

Milliseconds key_window(const Guarantees& guarantees) {
  return guarantees.key_dedup ? guarantees.key_dedup->window : Milliseconds{0};
}

}  // namespace

Milliseconds shortest_safe_age(const ToolPolicy& tool, const Guarantees& guarantees) {
  return key_window(guarantees) + tool.retry_horizon;
}

Result<std::size_t> purge(TerminalRows& rows, const PurgeRequest& request, const Policy& policy,
                          const Guarantees& guarantees) {
  const auto tool = policy.find_tool(request.action);
  if (!tool) return tl::unexpected(tool.error());
  const auto least = shortest_safe_age(**tool, guarantees);
  if (request.age < least) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("age {}: records of '{}' must live at least {} after their end: the "
                            "provider remembers keys for {}, "
                            "and callers may repeat an intent for {} (retry_horizon); a repeat "
                            "that finds no record is "
                            "a new payment",
                            to_text(request.age), escape_terminal(shorten(request.action, 80)),
                            to_text(least), to_text(key_window(guarantees)),
                            to_text((*tool)->retry_horizon)));
  }
  const auto batch = std::max<std::size_t>(request.batch, 1);
  std::size_t total = 0;
  while (true) {
    const auto gone = rows.purge_terminal(request.action, request.now - request.age, batch);
    if (!gone) return gone;
    total += *gone;
    if (*gone < batch) return total;
  }
}

}  // namespace onceproof
