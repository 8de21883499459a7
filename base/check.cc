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

#ifdef __SANITIZE_THREAD__
// Debian's libcpp-httplib is not built for ThreadSanitizer: it does not see that the library's own
// static tables are initialised once, and takes their first use for a race.
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libcpp-httplib.so\n";
}
#endif
