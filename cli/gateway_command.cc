#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "cli/journal_access.h"
#include "reference/gateway_server.h"

namespace onceproof::cli {
namespace {

constexpr Milliseconds kReconcileEvery{1'000};

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
  fmt::print("gateway: {} in front of {}\n", (*server)->url(), args.upstream);
  for (const auto& route : policy->gateway.routes) {
    fmt::print("  {} {}: {}\n", route.method, route.path, route.action);
  }
  fmt::print("Ctrl-C stops it.\n");
  std::fflush(stdout);
  while (context.clock.wait_for(kReconcileEvery, context.stop)) {
    if (auto pass = (*gateway)->reconcile(); !pass) static_cast<void>(complain(pass.error()));
  }
  return kPassed;
}

}  // namespace onceproof::cli
