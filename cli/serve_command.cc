#include <fmt/format.h>

#include <cstdio>

#include "base/text.h"
#include "cli/commands.h"
#include "fakes/admin_api.h"
#include "fakes/host.h"

namespace onceproof::cli {
namespace {

constexpr Milliseconds kLongWait{3'600'000};

}  // namespace

ExitCode serve_command(const ServeArgs& args, const Context& context) {
  const auto profile = fakes::find_profile(args.profile);
  if (!profile) return complain(profile.error());
  fakes::HostOptions options;
  options.service = args.service;
  options.profile = *profile;
  options.bind = args.bind;
  options.port = args.port;
  options.ledger = args.ledger;
  options.durability = Durability::full;
  const auto host = fakes::Host::start(std::move(options), context.clock);
  if (!host) return complain(host.error());
  const auto admin = fakes::AdminApi::start(
      {.bind = args.bind, .port = args.admin_port, .token = context.admin_token}, **host,
      context.clock);
  if (!admin) return complain(admin.error());
  fmt::print(
      "{} ({}): {}\n{}: {}\nadmin API: {}/ledger /wire-log /faults /reset\nCtrl-C stops it.\n",
      escape_terminal(args.service), escape_terminal(args.profile), (*host)->url(), "guarantees",
      to_line(fakes::guarantees_json(*profile)), (*admin)->url());
  std::fflush(stdout);
  while (!context.stop.stop_requested()) context.clock.wait_for(kLongWait, context.stop);
  const auto effects = (*host)->effects();
  fmt::print("\n{} requests, {} effects\n", (*host)->wire_log().size(),
             effects ? effects->size() : 0);
  return kPassed;
}

}  // namespace onceproof::cli
