#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "reference/policy_file.h"

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

}  // namespace

ExitCode policy_command(const PolicyArgs& args, const Context&) {
  const auto file = read_policy_file(args.file);
  if (!file) return complain(file.error());
  for (const auto& [action, tool] : file->policy.tools) {
    const Guarantees promised = file->guarantees_of(action);
    fmt::print("{}\n", escape_terminal(action));
    fmt::print("  a call        at most {}, under a lease of {}\n", to_text(tool.call_timeout),
               to_text(tool.lease));
    fmt::print("  checks        from {} to {}; to review after {}; at most {} calls\n",
               to_text(tool.check_initial), to_text(tool.check_max), to_text(tool.unknown_after),
               tool.max_attempts);
    fmt::print("  key dedup     {}\n", describe_dedup(promised));
    fmt::print("  lookup        {}\n", describe_lookup(promised));
    fmt::print("  in doubt      {}\n", describe_doubt(promised));
    fmt::print("  result keeps  {}\n",
               tool.result_fields.empty()
                   ? "nothing"
                   : escape_terminal(fmt::format("{}", fmt::join(tool.result_fields, ", "))));
  }
  fmt::print("{}: {} tools, no mistake found\n", escape_terminal(args.file.string()),
             file->policy.tools.size());
  return kPassed;
}

}  // namespace onceproof::cli
