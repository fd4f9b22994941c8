#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace headway::base {

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "headway: internal error at %s:%d: check failed: %s\n", file, line,
               condition);
  std::abort();
}

}  // namespace headway::base
