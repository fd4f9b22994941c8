#include "cache/directory_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <time.h>

#include <cerrno>

#include "base/clock.h"

namespace headway::cache {
namespace {

constexpr std::int64_t kPauseNs = 20'000'000;

}  // namespace

base::Result<DirectoryLock> DirectoryLock::take(const std::string& directory,
                                                std::int64_t wait_ns) {
  const std::string path = directory + "/.headway-lock";
  base::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd.valid()) {
    return base::errno_status(directory, "cannot be written, name another directory", errno);
  }
  const std::int64_t deadline_ns = base::monotonic_ns() + wait_ns;
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return base::errno_status(path, "lock", errno);
    if (base::monotonic_ns() >= deadline_ns) {
      return base::Status::invalid(
          fmt::format("{}: another `headway cache` has been unpacking into it for {} s; wait until "
                      "it has ended",
                      directory, wait_ns / base::kNsPerSecond));
    }
    const timespec pause{0, kPauseNs};
    ::nanosleep(&pause, nullptr);
  }
  return DirectoryLock(std::move(fd));
}

}  // namespace headway::cache
