#include <iostream>

#include "cli/commands.h"
#include "cli/journal_access.h"
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
  const auto sealer = read_sealer(context);
  if (!sealer) return complain(sealer.error());
  SystemRandom random;
  const int code = run_worker({std::cin, std::cout, std::cerr}, context.clock, random, seams,
                              *sealer ? &**sealer : nullptr);
  return code == 0 ? kPassed : kUnusable;
}

}  // namespace onceproof::cli
