#include "cli/command_line.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>

#include "base/text.h"

namespace onceproof::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  onceproof run                                     every scenario against the reference\n"
    "  onceproof run guide-lost-response                 one story\n"
    "  onceproof run --filter 'payments/*/blind'         one provider profile\n"
    "  onceproof run --mutant timeout-is-failure         a deliberately wrong executor: see it "
    "caught\n"
    "  onceproof run --sut onceproof.yaml                your own executor\n"
    "  onceproof serve --profile keyed                   the fake payment provider, to try by "
    "hand\n"
    "  onceproof proxy --upstream http://127.0.0.1:8080  faults in front of a real server\n"
    "\n"
    "Exit codes: 0 all passed; 1 violated or could not be judged; 2 the command, a file, a port or "
    "a\n"
    "SUT could not be used; 3 a bug in onceproof; 130 interrupted (a partial report was "
    "written).\n";

std::string check_duration(const std::string& text) {
  const auto parsed = parse_duration(text);
  return parsed ? std::string() : parsed.error().message;
}

std::string check_positive_duration(const std::string& text) {
  const auto parsed = parse_duration(text);
  if (!parsed) return parsed.error().message;
  return *parsed > Milliseconds{0} ? std::string()
                                   : fmt::format("'{}' is no time at all; 1ms is the least", text);
}

// CLI11 would read -1 as 18446744073709551615.
std::string check_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error == std::errc{} && end == text.data() + text.size()) return {};
  return fmt::format("'{}' is not a whole number from 0 to {}", text, UINT64_MAX);
}

CLI::App* add_run(CLI::App& app, RunArgs& args, std::string& timeout) {
  auto* run = app.add_subcommand(
      "run", "Run scenarios against the reference, a mutant or your own executor, and judge them");
  run->add_option("SCENARIO", args.scenarios,
                  "names from `onceproof list`, or .yaml files; default: the whole catalogue");
  run->add_option("--filter", args.filters,
                  "glob over cell ids, such as 'payments/*/keyed'; may be repeated")
      ->allow_extra_args(false);
  auto* sut = run->add_option("--sut", args.sut, "manifest of your executor (onceproof.yaml)");
  run->add_option("--mutant", args.mutant,
                  "a deliberately wrong executor; `onceproof list` has them")
      ->excludes(sut);
  run->add_option("--seed", args.seed, "the same seed gives the same plan")
      ->check(CLI::Validator(check_seed, "UINT"))
      ->capture_default_str();
  run->add_option("--jobs", args.jobs, "cells at one time; they mostly wait")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  run->add_option("--timeout", timeout, "longest time for one cell")
      ->check(CLI::Validator(check_positive_duration, "DURATION"))
      ->capture_default_str();
  run->add_flag("--fail-fast", args.fail_fast, "start no cell after the first violation");
  run->add_flag("--quiet", args.quiet, "no progress, only the summary and what failed");
  run->add_option("--out", args.out, "folder for reports; each run gets its own in it")
      ->capture_default_str();
  run->add_option("--json", args.json,
                  "also write the results as JSON to this file (a link is followed, a pipe or a "
                  "device written to)");
  run->add_option("--junit", args.junit, "also write the results as JUnit XML to this file");
  return run;
}

CLI::App* add_serve(CLI::App& app, ServeArgs& args) {
  auto* serve = app.add_subcommand("serve", "Run a fake provider and its admin API until Ctrl-C");
  serve->add_option("--service", args.service, "which fake")->capture_default_str();
  serve
      ->add_option("--profile", args.profile, "what the fake guarantees; `onceproof list` has them")
      ->capture_default_str();
  serve->add_option("--port", args.port, "port of the fake; 0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  serve->add_option("--admin-port", args.admin_port, "port of the admin API; 0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  serve
      ->add_option("--bind", args.bind,
                   "address; beyond loopback the admin API demands the token in "
                   "ONCEPROOF_ADMIN_TOKEN")
      ->capture_default_str();
  serve->add_option("--ledger", args.ledger,
                    "SQLite file that keeps the effects; default: in memory");
  serve->add_option("--fault", args.faults,
                    "arm a fault, such as 'payments.create@after_commit 1*close' (docs/faults.md); "
                    "may be repeated");
  return serve;
}

// A journal that exists, by its name.
void add_journal_option(CLI::App* command, std::string& journal) {
  command->add_option("--journal", journal, "sqlite:PATH, the file that the executor writes")
      ->required();
}

void add_page_options(CLI::App* command, std::string& after, std::size_t& limit) {
  command->add_option("--after", after, "only operations behind this key: the next page");
  command->add_option("--limit", limit, "how many")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
}

// The subcommands of one group; `what` tells which one was given.
template <typename Args>
CLI::App* add_part(CLI::App* group, Args& args, typename Args::What what, const char* name,
                   const char* text) {
  auto* part = group->add_subcommand(name, text);
  add_journal_option(part, args.journal);
  part->callback([&args, what] { args.what = what; });
  return part;
}

CLI::App* add_journal(CLI::App& app, JournalArgs& args, std::string& age) {
  using What = JournalArgs::What;
  auto* journal = app.add_subcommand("journal", "Look into an executor's journal, and clean it up");
  journal->require_subcommand(1);
  auto* list = add_part(journal, args, What::list, "list", "Operations, one a line");
  list->add_option("--status", args.status, "only these")
      ->check(CLI::IsMember({"pending", "in_progress", "unknown", "succeeded", "failed_final"}));
  list->add_flag("--review", args.in_review, "only those that wait for a person");
  list->add_flag("--json", args.json, "one JSON object a line");
  add_page_options(list, args.after, args.limit);
  auto* show = add_part(journal, args, What::show, "show", "One operation, event by event");
  show->add_option("KEY", args.key, "operation key")->required();
  add_part(journal, args, What::verify, "verify",
           "Check pages, indexes, and that each operation ends where its last event says");
  auto* purge = add_part(journal, args, What::purge, "purge",
                         "Delete ended operations that are older than any repeat can be");
  purge->add_option("--action", args.action, "whose operations")->required();
  purge->add_flag("--plan", args.plan, "the action is the name of a plan: delete plans' records");
  purge
      ->add_option("--age", age,
                   "how long ago they ended, such as 720h; an age that could turn a "
                   "late repeat into a second effect is refused")
      ->check(CLI::Validator(check_duration, "DURATION"))
      ->required();
  purge->add_option("--policy", args.policy, "the policy that the executor runs by")->required();
  add_part(journal, args, What::dump, "export",
           "Every operation with its events as JSON Lines; no parameters, no keys");
  return journal;
}

CLI::App* add_review(CLI::App& app, ReviewArgs& args, bool& absent, bool& failed) {
  using What = ReviewArgs::What;
  auto* review =
      app.add_subcommand("review", "Operations whose outcome only a person can find out");
  review->require_subcommand(1);
  auto* list = add_part(review, args, What::list, "list", "What waits, one a line");
  add_page_options(list, args.after, args.limit);
  auto* show = add_part(review, args, What::show, "show",
                        "One operation, event by event, and the lines that resolve it");
  show->add_option("KEY", args.key, "operation key")->required();
  auto* resolve = add_part(review, args, What::resolve, "resolve", "Say what you found out");
  resolve->add_option("KEY", args.key, "operation key")->required();
  auto* how = resolve->add_option_group("what you found");
  how->add_option("--succeeded", args.resolution.external_id,
                  "the effect exists, under this id of the provider");
  how->add_flag("--absent", absent, "no effect exists and none will: it may be attempted again");
  how->add_flag("--failed", failed, "no effect exists, and none is wanted any more");
  how->require_option(1);
  resolve->add_option("--by", args.resolution.by, "who you are")->required();
  resolve->add_option("--why", args.resolution.why, "what you saw")->required();
  resolve
      ->add_option("--seen", args.resolution.seen,
                   "number of the last event that you saw; `review show` prints it")
      ->required();
  resolve->add_option("--policy", args.policy,
                      "with --succeeded: register the follow-ups that this policy has");
  return review;
}

CLI::App* add_gateway(CLI::App& app, GatewayArgs& args) {
  auto* gateway = app.add_subcommand(
      "gateway", "Idempotency-Key in front of a provider that has no idempotency, until Ctrl-C");
  gateway->add_option("--upstream", args.upstream, "http://HOST:PORT of the provider")->required();
  gateway->add_option("--policy", args.policy, "YAML with gateway.routes; docs/reference.md")
      ->required();
  gateway->add_option("--journal", args.journal, "sqlite:PATH; made if it is not there")
      ->capture_default_str();
  gateway->add_option("--port", args.port, "0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  gateway->add_option("--bind", args.bind, "address to listen at")->capture_default_str();
  return gateway;
}

CLI::App* add_proxy(CLI::App& app, ProxyArgs& args) {
  auto* proxy = app.add_subcommand(
      "proxy", "Faults in front of any real HTTP or HTTPS server, until Ctrl-C; docs/proxy.md");
  proxy->add_option("--upstream", args.upstream, "http://HOST:PORT or https://HOST:PORT")
      ->required();
  proxy->add_option("--ca", args.ca, "PEM of the authorities to trust instead of the system's");
  proxy->add_option("--host", args.host, "whose name the Host header has")
      ->check(CLI::IsMember({"client", "upstream"}))
      ->capture_default_str();
  proxy->add_option("--port", args.port, "0: any free one")
      ->check(CLI::Range(0, 65'535))
      ->capture_default_str();
  proxy->add_option("--admin-port", args.admin_port, "port of the admin API; 0: any free one")
      ->check(CLI::Range(0, 65'535))
      ->capture_default_str();
  proxy
      ->add_option("--bind", args.bind,
                   "address to listen at; beyond loopback set ONCEPROOF_ADMIN_TOKEN")
      ->capture_default_str();
  proxy->add_option("--key-header", args.key_header, "where the operation key travels")
      ->capture_default_str();
  proxy->add_option("--route", args.routes, "'NAME=METHOD PATH', globs; may be repeated");
  proxy->add_option("--fault", args.faults,
                    "as '{at: after_commit, on: {route: POST /pay*}, do: close}'; may be repeated");
  proxy->add_option("--faults", args.faults_file, "YAML or JSON: a list of faults");
  proxy->add_option("--duplicate", args.duplicates,
                    "'METHOD PATH [nth=N] [times=N] [key=K]': deliver it twice; may be repeated");
  proxy->add_option("--truncate", args.truncations,
                    "'METHOD PATH at=BYTES [nth=N] ...': cut the reply; may be repeated");
  proxy->add_flag("--log", args.log, "a line for each request when it is over");
  // One value an option, so that none takes the next option's.
  for (auto* option : proxy->get_options()) {
    if (option->get_items_expected_max() > 1) option->allow_extra_args(false);
  }
  return proxy;
}

}  // namespace

std::variant<Command, ExitCode> parse_command_line(int argc, char** argv) {
  CLI::App app{"onceproof: does a repeated agent action happen once? Faults in, effects counted."};
  app.name("onceproof");
  app.require_subcommand(1);
  app.set_version_flag("--version", "onceproof " ONCEPROOF_VERSION);
  app.footer(kFooter);

  RunArgs run_args;
  ListArgs list_args;
  WorkerArgs worker_args;
  ServeArgs serve_args;
  PolicyArgs policy_args;
  JournalArgs journal_args;
  ReviewArgs review_args;
  GatewayArgs gateway_args;
  ProxyArgs proxy_args;
  WatchdogArgs watchdog_args;
  std::string timeout = "30s";
  std::string age;
  bool absent = false;
  bool failed = false;
  auto* run = add_run(app, run_args, timeout);
  auto* list = app.add_subcommand("list", "List scenarios, profiles, invariants and mutants");
  list->add_flag("--json", list_args.json, "as JSON");
  auto* worker = app.add_subcommand(
      "worker", "The reference executor as a system under test: JSON Lines on stdin and stdout");
  worker->add_option("--mutant", worker_args.mutant, "with one deliberate mistake");
  auto* serve = add_serve(app, serve_args);
  auto* policy = app.add_subcommand("policy", "Work with a tool policy");
  policy->require_subcommand(1);
  auto* check = policy->add_subcommand("check", "Read a policy file and say what it comes to");
  check->add_option("FILE", policy_args.file, "YAML; docs/reference.md describes it")->required();
  auto* journal = add_journal(app, journal_args, age);
  auto* review = add_review(app, review_args, absent, failed);
  auto* gateway = add_gateway(app, gateway_args);
  auto* proxy = add_proxy(app, proxy_args);
  auto* watchdog = app.add_subcommand("watchdog", "What `run` starts to clean up after itself");
  watchdog->add_option("FOLDER", watchdog_args.run_folder, "the run's")->required();
  watchdog->group("");  // not for people, so not in the help
  auto* errors = app.add_subcommand("errors", "Print the table of error codes");

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    app.exit(e);
    return kPassed;
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "onceproof: %s\nSee onceproof --help, or onceproof COMMAND --help.\n",
                 escape_terminal(e.what()).c_str());
    return kUnusable;
  }
  run_args.cell_timeout = parse_duration(timeout).value_or(run_args.cell_timeout);
  journal_args.age = parse_duration(age).value_or(journal_args.age);
  review_args.resolution.how = absent   ? Resolution::How::absent
                               : failed ? Resolution::How::failed
                                        : Resolution::How::succeeded;
  if (run->parsed()) return Command{run_args};
  if (list->parsed()) return Command{list_args};
  if (worker->parsed()) return Command{worker_args};
  if (watchdog->parsed()) return Command{watchdog_args};
  if (serve->parsed()) return Command{serve_args};
  if (check->parsed()) return Command{policy_args};
  if (journal->parsed()) return Command{journal_args};
  if (review->parsed()) return Command{review_args};
  if (gateway->parsed()) return Command{gateway_args};
  if (proxy->parsed()) return Command{proxy_args};
  if (errors->parsed()) return Command{ErrorsArgs{}};
  return kUnusable;
}

}  // namespace onceproof::cli
