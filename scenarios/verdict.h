// What the judge says of one cell.
// Merge order when several hold: violated > inconclusive > unsupported > pass. Inconclusive is
// never green.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace onceproof::scenarios {

enum class VerdictKind { pass, violated, inconclusive, unsupported };

struct Violation {
  std::string
      invariant;       // an id of DESIGN 3, or "expectation": the scenario's own demand was not met
  std::string intent;  // "A"; empty: the cell as a whole
  std::string observed;  // the facts, with numbers of requests, ids of effects, times since the
                         // start of the cell
  std::string inferred;  // what that suggests about the executor
  std::string remedy;    // what would be right, with the guide's step
  std::vector<std::uint64_t> requests;  // wire log numbers that are the evidence
};

struct Verdict {
  VerdictKind kind = VerdictKind::pass;
  std::string reason;  // inconclusive, unsupported: why
  std::vector<Violation> violations;
};

using onceproof::to_text;  // of times: not to be hidden by the next
std::string_view to_text(VerdictKind kind);

}  // namespace onceproof::scenarios
