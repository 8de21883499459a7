#include <fmt/format.h>

#include <cstdio>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/journal_access.h"
#include "reference/follow_up.h"
#include "reference/policy_file.h"

namespace onceproof::cli {
namespace {

ExitCode list_reviews(SqliteJournal& journal, const ReviewArgs& args, const Context& context) {
  const auto operations = journal.list({{}, true, args.after, args.limit});
  if (!operations) return complain(operations.error());
  for (const auto& operation : *operations) {
    const auto waiting =
        time_between(operation.review_since.value_or(operation.updated_at), context.clock.civil());
    fmt::print("{}  waiting for {}\n", summarize(operation), to_text(waiting));
  }
  if (operations->empty()) {
    fmt::print("nothing waits for a person\n");
    return kPassed;
  }
  fmt::print("\nlook at one: {} review show --journal {} {}\n", context.command,
             quote_shell(args.journal), quote_shell(operations->front().operation_key));
  if (operations->size() == args.limit) {
    fmt::print("the first {}; more: add --after {}\n", args.limit,
               quote_shell(operations->back().operation_key));
  }
  return kPassed;
}

ExitCode show_review(SqliteJournal& journal, const ReviewArgs& args, const Context& context) {
  const auto operation = print_timeline(journal, args.key);
  if (!operation) return complain(operation.error());
  if (!operation->review_since || is_terminal(operation->status)) {
    fmt::print("\nIt is not in review: there is nothing for a person to decide.\n");
    return kPassed;
  }
  fmt::print(
      "\nIt is not known whether the effect exists. Look in the provider's own books for {},\n"
      "or, if it never learned that key, for what intent '{}' was about, from the time of the "
      "first "
      "attempt\non. Then say what you found, with your name and what you saw:\n",
      escape_terminal(operation->operation_key), escape_terminal(operation->intent_id));
  const std::string line =
      fmt::format("{} review resolve --journal {} --seen {} --by NAME --why TEXT", context.command,
                  quote_shell(args.journal), operation->event_count);
  for (const auto& [how, meaning] :
       {std::pair{"--succeeded ID", "it exists there under this id; it will not be done again"},
        std::pair{"--absent", "it does not exist and will not: the next attempt may be made"},
        std::pair{"--failed", "it does not exist, and is not wanted any more"}}) {
    fmt::print("  {} {} {}\n      {}\n", line, how, quote_shell(args.key), meaning);
  }
  return kPassed;
}

// What is to come after a success that a person found; none without a policy.
Result<std::vector<Operation>> plan_follow_ups(SqliteJournal& journal, const ReviewArgs& args,
                                               const Context& context) {
  if (args.resolution.how != Resolution::How::succeeded) return std::vector<Operation>{};
  if (args.policy.empty()) return std::vector<Operation>{};
  const auto file = read_policy_file(args.policy);
  if (!file) return tl::unexpected(file.error());
  const auto sealer = read_sealer(context);
  if (!sealer) return tl::unexpected(sealer.error());
  const auto operation = journal.load(args.key);
  if (!operation) return tl::unexpected(operation.error());
  Json params = nullptr;
  if (*sealer && !operation->sealed_params.empty()) {
    auto opened = (*sealer)->open(operation->operation_key, operation->sealed_params);
    if (!opened) return tl::unexpected(opened.error());
    params = std::move(*opened);
  }
  SystemRandom random;
  return make_follow_ups(*operation, args.resolution.external_id, nullptr, params,
                         context.clock.civil(),
                         {file->policy, *sealer ? &**sealer : nullptr, random});
}

// What the journal made of them: it leaves out one whose key or intent is taken, with an event that
// says so.
ExitCode print_follow_ups(SqliteJournal& journal, const ReviewArgs& args,
                          const std::vector<Operation>& follow_ups) {
  for (const auto& follow_up : follow_ups) {
    const auto stored = journal.load(follow_up.operation_key);
    if (!stored && stored.error().code != ErrorCode::not_found) return complain(stored.error());
    if (stored && stored->request_hash == follow_up.request_hash) {
      fmt::print("  then {}\n", escape_terminal(follow_up.operation_key));
    }
  }
  const auto events = journal.events(args.key);
  if (!events) return complain(events.error());
  for (const auto& event : *events) {
    if (event.seq <= args.resolution.seen || event.reason != "follow_up_refused") continue;
    fmt::print("  not registered: {}\n", escape_terminal(event.detail));
  }
  return kPassed;
}

ExitCode resolve_review(SqliteJournal& journal, const ReviewArgs& args, const Context& context) {
  const auto follow_ups = plan_follow_ups(journal, args, context);
  if (!follow_ups) return complain(follow_ups.error());
  const auto resolved =
      journal.resolve(args.key, args.resolution, *follow_ups, context.clock.civil());
  if (!resolved) return complain(resolved.error());
  fmt::print("{}\n", summarize(*resolved));
  if (args.policy.empty() && resolved->status == Status::succeeded) {
    std::fprintf(stderr,
                 "onceproof: without --policy nothing that follows this success is registered\n");
  }
  return print_follow_ups(journal, args, *follow_ups);
}

}  // namespace

ExitCode review_command(const ReviewArgs& args, const Context& context) {
  const auto journal = open_journal(args.journal, FileUse::existing);
  if (!journal) return complain(journal.error());
  switch (args.what) {
    case ReviewArgs::What::list:
      return list_reviews(**journal, args, context);
    case ReviewArgs::What::show:
      return show_review(**journal, args, context);
    case ReviewArgs::What::resolve:
      return resolve_review(**journal, args, context);
  }
  return kInternal;
}

}  // namespace onceproof::cli
