#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace onceproof {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: CHECK(%s) failed. This is a bug in onceproof.\n", file, line,
               condition);
  std::abort();
}

}  // namespace onceproof
