#include <fmt/format.h>

#include <cstdio>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/journal_access.h"
#include "reference/policy_file.h"

namespace onceproof::cli {
namespace {

constexpr std::size_t kPage = 500;

ExitCode list_operations(SqliteJournal& journal, const JournalArgs& args, const Context& context) {
  ListFilter filter{{}, args.in_review, args.after, args.limit};
  if (!args.status.empty()) filter.status = parse_status(args.status);
  const auto operations = journal.list(filter);
  if (!operations) return complain(operations.error());
  for (const auto& operation : *operations) {
    fmt::print("{}\n", args.json ? to_terminal_line(to_json(operation)) : summarize(operation));
  }
  if (args.json) return kPassed;
  if (operations->empty()) fmt::print("no operation\n");
  if (operations->size() == args.limit) {
    fmt::print("the first {}; more: {} journal list --journal {} --after {}\n", args.limit,
               context.command, quote_shell(args.journal),
               quote_shell(operations->back().operation_key));
  }
  return kPassed;
}

ExitCode show_operation(SqliteJournal& journal, const JournalArgs& args) {
  const auto operation = print_timeline(journal, args.key);
  if (!operation) return complain(operation.error());
  const auto children = journal.children(args.key);
  if (!children) return complain(children.error());
  if (!children->empty()) fmt::print("\n  what follows it:\n");
  for (const auto& child : *children) fmt::print("  {}\n", summarize(child));
  return kPassed;
}

ExitCode export_operations(SqliteJournal& journal) {
  const auto done =
      visit_operations(journal, {.limit = kPage}, [&](const Operation& operation) -> Result<void> {
        const auto events = journal.events(operation.operation_key);
        if (!events) return tl::unexpected(events.error());
        Json line{{"operation", to_json(operation)}, {"events", Json::array()}};
        for (const auto& event : *events) line["events"].push_back(to_json(event));
        fmt::print("{}\n", to_terminal_line(line));
        return {};
      });
  return done ? kPassed : complain(done.error());
}

// What SQLite calls sound may still hold a text that our own readers refuse.
ExitCode verify_operations(SqliteJournal& journal, const JournalArgs& args) {
  const auto done = visit_operations(journal, {.limit = kPage}, [&](const Operation& operation) {
    return journal.events(operation.operation_key).map([](const auto&) {});
  });
  if (!done) {
    const ExitCode code = complain(done.error());
    return done.error().code == ErrorCode::journal_corrupt ? kViolated : code;
  }
  fmt::print(
      "{}: sound: every page and index, each operation and event can be read, and each operation "
      "ends where its last event says\n",
      escape_terminal(args.journal));
  return kPassed;
}

ExitCode purge_operations(SqliteJournal& journal, const JournalArgs& args, const Context& context) {
  const auto file = read_policy_file(args.policy);
  if (!file) return complain(file.error());
  const PurgeRequest request{args.action, args.age, context.clock.civil()};
  const auto gone = args.plan
                        ? purge_plans(journal, request, *file)
                        : purge(journal, request, file->policy, file->guarantees_of(args.action));
  if (!gone) return complain(gone.error());
  fmt::print("{} operations of {}, ended more than {} ago, were deleted with their events\n", *gone,
             escape_terminal(args.action), to_text(args.age));
  return kPassed;
}

}  // namespace

ExitCode journal_command(const JournalArgs& args, const Context& context) {
  const auto check =
      args.what == JournalArgs::What::verify ? IntegrityCheck::full : IntegrityCheck::none;
  const auto journal = open_journal(args.journal, FileUse::existing, check);
  if (!journal) {
    const ExitCode code = complain(journal.error());
    return journal.error().code == ErrorCode::journal_corrupt ? kViolated : code;
  }
  switch (args.what) {
    case JournalArgs::What::list:
      return list_operations(**journal, args, context);
    case JournalArgs::What::show:
      return show_operation(**journal, args);
    case JournalArgs::What::verify:
      return verify_operations(**journal, args);
    case JournalArgs::What::purge:
      return purge_operations(**journal, args, context);
    case JournalArgs::What::dump:
      return export_operations(**journal);
  }
  return kInternal;
}

}  // namespace onceproof::cli
