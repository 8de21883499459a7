#include "scenarios/verdict.h"

namespace onceproof::scenarios {

std::string_view to_text(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::pass:
      return "pass";
    case VerdictKind::violated:
      return "violated";
    case VerdictKind::inconclusive:
      return "inconclusive";
    case VerdictKind::unsupported:
      break;
  }
  return "unsupported";
}

}  // namespace onceproof::scenarios
