#include <fmt/format.h>

#include <cstdio>

#include "base/text.h"
#include "cli/commands.h"
#include "fakes/admin_api.h"
#include "fakes/host.h"

namespace onceproof::cli {
namespace {

constexpr Milliseconds kLongWait{3'600'000};

// A line of text, or the JSON form in braces. Armed before anybody is told where the fake is.
Result<void> arm_faults(const std::vector<std::string>& texts, fakes::Host& host) {
  std::vector<faults::Fault> faults;
  for (const auto& text : texts) {
    auto fault = faults::fault_from_text(text);
    if (trim(text).starts_with('{')) {
      const auto json = parse_json(text, "--fault");
      if (!json) return tl::unexpected(json.error());
      fault = faults::fault_from_json(*json);
    }
    if (!fault) return fail(fault.error().code, "--fault: " + fault.error().message);
    faults.push_back(std::move(*fault));
  }
  auto armed = host.faults().arm(std::move(faults));
  if (!armed) return fail(armed.error().code, "--fault: " + armed.error().message);
  return {};
}

void print_faults(fakes::Host& host) {
  for (const auto& record : host.faults().records()) {
    fmt::print("fault {}\n", faults::to_text(record.fault));
  }
}

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
  if (auto armed = arm_faults(args.faults, **host); !armed) return complain(armed.error());
  const auto admin = fakes::AdminApi::start(
      {.bind = args.bind, .port = args.admin_port, .token = context.admin_token}, **host,
      context.clock);
  if (!admin) return complain(admin.error());
  fmt::print(
      "{} ({}): {}\n{}: {}\nadmin API: {}/ledger /wire-log /faults /reset\nCtrl-C stops it.\n",
      escape_terminal(args.service), escape_terminal(args.profile), (*host)->url(), "guarantees",
      to_line(fakes::guarantees_json(*profile)), (*admin)->url());
  print_faults(**host);
  std::fflush(stdout);
  while (!context.stop.stop_requested()) context.clock.wait_for(kLongWait, context.stop);
  const auto effects = (*host)->effects();
  fmt::print("\n{} requests, {} effects\n", (*host)->wire_log().size(),
             effects ? effects->size() : 0);
  return kPassed;
}

}  // namespace onceproof::cli
