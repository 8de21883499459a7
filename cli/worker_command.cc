#include <iostream>

#include "cli/commands.h"
#include "reference/worker.h"
#include "scenarios/mutants/mutants.h"

namespace onceproof::cli {

ExitCode worker_command(const WorkerArgs& args, const Context& context) {
  WorkerSeams seams;
  if (!args.mutant.empty()) {
    const auto mutant = scenarios::find_mutant(args.mutant);
    if (!mutant) return complain(mutant.error());
    seams = (*mutant)->make_seams();
  }
  SystemRandom random;
  const int code = run_worker({std::cin, std::cout, std::cerr}, context.clock, random, seams);
  return code == 0 ? kPassed : kUnusable;
}

}  // namespace onceproof::cli
