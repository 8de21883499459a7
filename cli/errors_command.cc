#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"

namespace onceproof::cli {

// The same text as docs/errors.md: the table in base/error.cc is the only source.
ExitCode errors_command(const ErrorsArgs&, const Context&) {
  fmt::print("| code | certainty | ask again | meaning |\n|---|---|---|---|\n");
  for (const auto& row : error_table()) {
    fmt::print("| `{}` | {} | {} | {} |\n", row.name,
               row.certainty == Certainty::definite ? "definite" : "indefinite", row.retry,
               row.sentence);
  }
  return kPassed;
}

}  // namespace onceproof::cli
