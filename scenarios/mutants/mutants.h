// The mutants: the reference with one deliberate, named mistake each, made from outside by
// decorating its seams. They prove that the judge's alarms ring: each must be caught by the
// invariant named for it.
#pragma once

#include <span>
#include <string_view>

#include "base/error.h"
#include "reference/worker.h"

namespace onceproof::scenarios {

struct Mutant {
  std::string_view name;       // "new-key-per-retry"
  std::string_view mistake;    // one sentence
  std::string_view caught_by;  // the invariant that names it
  WorkerSeams (*make_seams)();
};

std::span<const Mutant> mutants();
// Errors: not_found, listing the names.
Result<const Mutant*> find_mutant(std::string_view name);

}  // namespace onceproof::scenarios
