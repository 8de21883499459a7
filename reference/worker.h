// The reference as an ordinary system under test: JSON Lines in, JSON Lines out, exactly as
// docs/sut-protocol.md says. Invariant: each request line gets exactly one answer line with its id;
// nothing else is written to `out`. What must survive a crash is in state_dir/journal.db. One
// thread; nothing is kept between two lines but the journal. There are no test hooks: wrong
// executors are made from outside, by decorating the seams (WorkerSeams).
#pragma once

#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "reference/journal.h"
#include "reference/protocol.h"
#include "reference/provider.h"
#include "reference/sealer.h"

namespace onceproof {

// What stands between the worker and the world. Each may be left empty: then the right one is used.
struct WorkerSeams {
  std::function<std::unique_ptr<Provider>(std::unique_ptr<Provider>)> decorate_provider;
  std::function<std::unique_ptr<Journal>(std::unique_ptr<Journal>)> decorate_journal;
  std::shared_ptr<const Protocol> protocol;
};

struct WorkerIo {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

// Serves until `shutdown` or the end of `in`. Returns the exit code: 0, or 2 if `init` could not be
// served (one
// {"type":"error"} line on out and one sentence on err say why) or `out` is broken. Blocks.
// `sealer`: for tools that keep their parameters; may be null.
int run_worker(WorkerIo io, Clock& clock, Random& random, const WorkerSeams& seams = {},
               const Sealer* sealer = nullptr);

}  // namespace onceproof
