#include "reference/retention.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace onceproof {
namespace {

Milliseconds key_window(const Guarantees& guarantees) {
  return guarantees.key_dedup ? guarantees.key_dedup->window : Milliseconds{0};
}

Result<std::size_t> purge_older(TerminalRows& rows, const PurgeRequest& request) {
  const auto batch = std::max<std::size_t>(request.batch, 1);
  std::size_t total = 0;
  while (true) {
    auto gone = rows.purge_terminal(request.action, request.now - request.age, batch);
    if (!gone) return gone;
    total += *gone;
    if (*gone < batch) return total;
  }
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
  return purge_older(rows, request);
}

Result<std::size_t> purge_plans(TerminalRows& rows, const PurgeRequest& request,
                                const PolicyFile& file) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("plan '{}': {}", escape_terminal(shorten(request.action, 80)), why));
  };
  if (file.policy.tools.contains(request.action)) return refuse("this is a tool of the policy");
  Milliseconds least{0};
  for (const auto& [action, tool] : file.policy.tools) {
    least = std::max(least, shortest_safe_age(tool, file.guarantees_of(action)));
  }
  if (request.age < least) {
    return refuse(
        fmt::format("age {}: its record must live at least {} after its end, as long as "
                    "that of any of its steps may; a repeat that finds no record takes "
                    "every step anew",
                    to_text(request.age), to_text(least)));
  }
  return purge_older(rows, request);
}

}  // namespace onceproof
