#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "reference/gateway.h"

namespace onceproof::cli {
namespace {

std::string describe_dedup(const Guarantees& promised) {
  if (!promised.key_dedup) return "none";
  return fmt::format("by {}, for {}", escape_terminal(promised.key_dedup->header),
                     to_text(promised.key_dedup->window));
}

std::string describe_lookup(const Guarantees& promised) {
  if (!promised.lookup) return "none";
  return fmt::format("by {}, {}, visible after {}",
                     promised.lookup->by == LookupBy::key ? "key" : "reference",
                     promised.lookup->complete ? "complete" : "not complete",
                     to_text(promised.lookup->index_delay));
}

// What an ambiguous outcome comes to: the question that a policy is read for.
std::string describe_doubt(const Guarantees& promised) {
  if (promised.key_dedup) return "sent again with the same key while the key is remembered";
  if (promised.lookup && promised.lookup->complete) {
    return "looked up; sent again only when absence is proved";
  }
  if (promised.lookup) return "looked up; never sent again, for absence cannot be proved";
  return "handed to a person: this provider can never tell";
}

std::string joined(const std::vector<std::string>& texts) {
  return texts.empty() ? "nothing" : escape_terminal(fmt::format("{}", fmt::join(texts, ", ")));
}

std::string describe_params(const ToolPolicy& tool) {
  const std::string kept = tool.keep_params ? "kept encrypted until the end" : "not kept";
  const std::string earlier =
      tool.earlier_fields.empty() ? "" : fmt::format(", {} earlier", tool.earlier_fields.size());
  return fmt::format("{}; compared by rules of version {}{}", kept, tool.hash_version, earlier);
}

std::string describe_no_effect(const Guarantees& promised) {
  std::vector<std::string> answers;
  for (const auto& row : promised.no_effect) {
    answers.push_back(fmt::format("{}{}{}", row.status, row.error.empty() ? "" : " ", row.error));
  }
  return joined(answers);
}

void print_tool(const std::string& action, const ToolPolicy& tool, const Guarantees& promised) {
  fmt::print("{}\n", escape_terminal(action));
  fmt::print("  a call        at most {}, under a lease of {}\n", to_text(tool.call_timeout),
             to_text(tool.lease));
  fmt::print("  checks        within {} to {}; to review after {}; at most {} calls\n",
             to_text(tool.check_initial), to_text(tool.check_max), to_text(tool.unknown_after),
             tool.max_attempts);
  fmt::print("  key dedup     {}\n", describe_dedup(promised));
  fmt::print("  lookup        {}\n", describe_lookup(promised));
  fmt::print("  no effect     proved by {}\n", describe_no_effect(promised));
  fmt::print("  in doubt      {}\n", describe_doubt(promised));
  fmt::print("  parameters    {}\n", describe_params(tool));
  fmt::print("  result keeps  {}\n", joined(tool.result_fields));
  for (const auto& step : tool.follow_ups) {
    fmt::print("  then          {}: {}\n", escape_terminal(step.step),
               escape_terminal(step.action));
  }
  fmt::print("  repeats       for {} after its end\n", to_text(tool.retry_horizon));
}

}  // namespace

ExitCode policy_command(const PolicyArgs& args, const Context&) {
  const auto file = read_policy_file(args.file);
  if (!file) return complain(file.error());
  if (!file->gateway.routes.empty()) {
    if (auto checked = check_gateway(*file); !checked) return complain(checked.error());
  }
  for (const auto& [action, tool] : file->policy.tools) {
    print_tool(action, tool, file->guarantees_of(action));
  }
  for (const auto& route : file->gateway.routes) {
    fmt::print("gateway {} {}: {}\n", route.method, escape_terminal(route.path),
               escape_terminal(route.action));
  }
  fmt::print("{}: {} tools, no mistake found\n", escape_terminal(args.file.string()),
             file->policy.tools.size());
  return kPassed;
}

}  // namespace onceproof::cli
