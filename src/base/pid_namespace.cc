#include "base/pid_namespace.h"

#include <sys/stat.h>

namespace headway::base {

std::uint32_t pid_namespace() {
  struct stat status{};
  if (::stat("/proc/self/ns/pid", &status) != 0) return 0;
  return static_cast<std::uint32_t>(status.st_ino);
}

}  // namespace headway::base
