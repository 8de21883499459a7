#include <fmt/format.h>

#include <cstdio>

#include "base/text.h"
#include "base/yaml.h"
#include "cli/commands.h"
#include "net/listener.h"
#include "proxy/admin.h"
#include "proxy/proxy.h"

namespace onceproof::cli {
namespace {

constexpr Milliseconds kLongWait{3'600'000};

// YAML, of which JSON is a part.
Result<Json> read_json(std::string_view text, std::string name) {
  auto document = parse_yaml(text, std::move(name));
  if (!document) return tl::unexpected(document.error());
  Json json = YamlCursor(**document).json();
  if ((*document)->error) return tl::unexpected(*(*document)->error);
  return json;
}

Result<void> add_fault(std::vector<faults::Fault>& faults, const Json& json,
                       std::string_view where) {
  auto fault = faults::fault_from_json(json);
  if (fault) {
    faults.push_back(std::move(*fault));
    return {};
  }
  return fail(fault.error().code, fmt::format("{}: {}", where, fault.error().message));
}

Result<std::vector<faults::Fault>> read_faults(const ProxyArgs& args) {
  std::vector<faults::Fault> faults;
  for (const auto& text : args.faults) {
    const auto json = read_json(text, "--fault");
    if (!json) return tl::unexpected(json.error());
    if (auto done = add_fault(faults, *json, "--fault"); !done) return tl::unexpected(done.error());
  }
  if (args.faults_file.empty()) return faults;
  const std::string file = args.faults_file.string();
  const auto text = read_file(args.faults_file);
  if (!text) return tl::unexpected(text.error());
  const auto json = read_json(*text, file);
  if (!json) return tl::unexpected(json.error());
  if (!json->is_array()) {
    return fail(ErrorCode::parse_failed,
                fmt::format("{}: must be a list of faults; begin each with '- at: '", file));
  }
  for (std::size_t i = 0; i < json->size(); ++i) {
    auto done = add_fault(faults, (*json)[i], fmt::format("{}: fault {}", file, i + 1));
    if (!done) return tl::unexpected(done.error());
  }
  return faults;
}

Result<std::vector<proxy::Rule>> read_rules(const std::vector<std::string>& texts,
                                            std::string_view option, bool takes_at) {
  std::vector<proxy::Rule> rules;
  for (const auto& text : texts) {
    auto rule = proxy::parse_rule(text, takes_at);
    if (!rule) {
      return fail(rule.error().code, fmt::format("{} {}", option, rule.error().message));
    }
    rules.push_back(std::move(*rule));
  }
  return rules;
}

// "#12 POST /payments key=op_1: 201, 12 ms (upstream 201; fault-1; what is worth saying)"
void print_entry(const fakes::WireEntry& entry, const Clock& clock) {
  std::string line = fmt::format("#{} {} {}", entry.number, escape_terminal(entry.method),
                                 escape_terminal(shorten(entry.target, 200)));
  if (!entry.key.empty()) line += " key=" + escape_terminal(shorten(entry.key, 100));
  const auto end = entry.responded_at.value_or(clock.monotonic());
  const auto took = std::chrono::duration_cast<Milliseconds>(end - entry.received_at);
  line += entry.status == 0 ? ": no reply" : fmt::format(": {}", entry.status);
  line += fmt::format(", {} ms", took.count());
  std::vector<std::string> more;
  if (entry.upstream_status != 0) more.push_back(fmt::format("upstream {}", entry.upstream_status));
  if (!entry.fault.empty()) more.push_back(escape_terminal(entry.fault));
  if (!entry.note.empty()) more.push_back(escape_terminal(entry.note));
  if (!more.empty()) line += fmt::format(" ({})", fmt::join(more, "; "));
  line += '\n';
  std::fputs(line.c_str(), stdout);  // one call: lines of several threads do not mix
  std::fflush(stdout);
}

Result<proxy::ProxyOptions> read_options(const ProxyArgs& args, const Context& context) {
  proxy::ProxyOptions options;
  options.upstream = args.upstream;
  options.ca_file = args.ca;
  options.bind = args.bind;
  options.port = args.port;
  options.upstream_host = args.host == "upstream";
  options.key_header = args.key_header;
  for (const auto& text : args.routes) {
    auto route = proxy::parse_route(text);
    if (!route) return fail(route.error().code, "--route " + route.error().message);
    options.routes.push_back(std::move(*route));
  }
  auto faults = read_faults(args);
  if (!faults) return tl::unexpected(faults.error());
  options.faults = std::move(*faults);
  auto duplicates = read_rules(args.duplicates, "--duplicate", false);
  if (!duplicates) return tl::unexpected(duplicates.error());
  options.duplicates = std::move(*duplicates);
  auto truncations = read_rules(args.truncations, "--truncate", true);
  if (!truncations) return tl::unexpected(truncations.error());
  options.truncations = std::move(*truncations);
  if (args.log) {
    options.on_end = [&clock = context.clock](const fakes::WireEntry& entry) {
      print_entry(entry, clock);
    };
  }
  return options;
}

}  // namespace

ExitCode proxy_command(const ProxyArgs& args, const Context& context) {
  if (!net::is_loopback(args.bind) && context.admin_token.empty()) {
    return complain({ErrorCode::invalid_argument,
                     "a proxy beyond loopback could be reached from other machines: set a token in "
                     "ONCEPROOF_ADMIN_TOKEN for its admin API"});
  }
  auto options = read_options(args, context);
  if (!options) return complain(options.error());
  const auto proxy = proxy::Proxy::start(std::move(*options), context.clock);
  if (!proxy) return complain(proxy.error());
  const auto admin = proxy::ProxyAdmin::start(
      {.bind = args.bind, .port = args.admin_port, .token = context.admin_token}, **proxy,
      context.clock);
  if (!admin) return complain(admin.error());
  fmt::print("proxy: {} in front of {}\nadmin API: {}/wire-log /faults\nCtrl-C stops it.\n",
             (*proxy)->url(), escape_terminal(args.upstream), (*admin)->url());
  std::fflush(stdout);
  while (!context.stop.stop_requested()) context.clock.wait_for(kLongWait, context.stop);
  std::size_t fired = 0;
  for (const auto& record : (*proxy)->faults().records()) fired += record.firings.size();
  fmt::print("\n{} requests, {} faults fired\n", (*proxy)->wire_log().size(), fired);
  return kPassed;
}

}  // namespace onceproof::cli
