#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <set>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/journal_access.h"
#include "reference/gateway_server.h"

namespace onceproof::cli {
namespace {

constexpr Milliseconds kReconcileEvery{1'000};
constexpr std::size_t kPage = 500;

// What is open of actions that no route has, perhaps any more: nothing here will ever end it.
void warn_of_the_unattended(SqliteJournal& journal, const GatewayPolicy& gateway,
                            const GatewayArgs& args, const Context& context) {
  std::set<std::string> routed;
  for (const auto& route : gateway.routes) routed.insert(route.action);
  std::map<std::string, std::size_t> open;
  const auto count_it = [&](const Operation& operation) -> Result<void> {
    if (!routed.contains(operation.action_type)) ++open[operation.action_type];
    return {};
  };
  for (const Status status : {Status::pending, Status::in_progress, Status::unknown}) {
    const auto done = visit_operations(journal, {.status = status, .limit = kPage}, count_it);
    if (!done) return static_cast<void>(complain(done.error()));
  }
  for (const auto& [action, count] : open) {
    const auto line = fmt::format(
        "onceproof: {} operation{} of '{}' {} not ended, and {} has no such route: the "
        "gateway neither checks what is open nor hands it to a person, and a repeat of its key "
        "is a new intent; put its tool and route back until all have ended, or look "
        "after it by hand: {} journal list --journal {}\n",
        count, count == 1 ? "" : "s", escape_terminal(action), count == 1 ? "has" : "have",
        escape_terminal(args.policy.string()), context.command, quote_shell(args.journal));
    std::fputs(line.c_str(), stderr);
  }
}

}  // namespace

ExitCode gateway_command(const GatewayArgs& args, const Context& context) {
  const auto policy = read_policy_file(args.policy);
  if (!policy) return complain(policy.error());
  const auto sealer = read_sealer(context);
  if (!sealer) return complain(sealer.error());
  if (!*sealer) {
    return complain({ErrorCode::invalid_argument,
                     "the gateway keeps answers encrypted, and there is no key: put 64 hexadecimal "
                     "digits into a file (openssl rand -hex 32) and set ONCEPROOF_KEY_FILE"});
  }
  const auto journal = open_journal(args.journal, FileUse::own, IntegrityCheck::quick);
  if (!journal) return complain(journal.error());
  const auto upstream = HttpClient::make(args.upstream, context.clock);
  if (!upstream) return complain(upstream.error());
  SystemRandom random;
  const auto gateway =
      Gateway::make({context.clock, **journal, random, *policy, **sealer, **upstream});
  if (!gateway) return complain(gateway.error());
  const auto server =
      GatewayServer::start({.bind = args.bind, .port = args.port}, **gateway, context.clock);
  if (!server) return complain(server.error());
  warn_of_the_unattended(**journal, policy->gateway, args, context);
  fmt::print("gateway: {} in front of {}\n", (*server)->url(), escape_terminal(args.upstream));
  for (const auto& route : policy->gateway.routes) {
    fmt::print("  {} {}: {}\n", route.method, escape_terminal(route.path),
               escape_terminal(route.action));
  }
  fmt::print("Ctrl-C stops it.\n");
  std::fflush(stdout);
  while (context.clock.wait_for(kReconcileEvery, context.stop)) {
    if (auto pass = (*gateway)->reconcile(); !pass) static_cast<void>(complain(pass.error()));
  }
  return kPassed;
}

}  // namespace onceproof::cli
