#include "cli/command_line.h"

#include <CLI/CLI.hpp>
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
    "\n"
    "Exit codes: 0 all passed; 1 violated or could not be judged; 2 the command, a file, a port or "
    "a\n"
    "SUT could not be used; 3 a bug in onceproof; 130 interrupted (a partial report was "
    "written).\n";

std::string check_duration(const std::string& text) {
  const auto parsed = parse_duration(text);
  return parsed ? std::string() : parsed.error().message;
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
  run->add_option("--seed", args.seed, "the same seed gives the same plan")->capture_default_str();
  run->add_option("--jobs", args.jobs, "cells at one time; they mostly wait")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  run->add_option("--timeout", timeout, "longest time for one cell")
      ->check(CLI::Validator(check_duration, "DURATION"))
      ->capture_default_str();
  run->add_flag("--fail-fast", args.fail_fast, "start no cell after the first violation");
  run->add_flag("--quiet", args.quiet, "no progress, only the summary and what failed");
  run->add_option("--out", args.out, "folder for reports; each run gets its own in it")
      ->capture_default_str();
  run->add_option("--json", args.json, "also write the results as JSON to this file");
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
  return serve;
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
  std::string timeout = "30s";
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
  if (run->parsed()) return Command{run_args};
  if (list->parsed()) return Command{list_args};
  if (worker->parsed()) return Command{worker_args};
  if (serve->parsed()) return Command{serve_args};
  if (check->parsed()) return Command{policy_args};
  if (errors->parsed()) return Command{ErrorsArgs{}};
  return kUnusable;
}

}  // namespace onceproof::cli
