// One unpacker at a time in a cache directory: a lock on `.headway-lock` in it, which the kernel
// lets go of when its owner dies. Of the real file system only. One owner.
#pragma once

#include <cstdint>
#include <string>

#include "base/file.h"
#include "base/status.h"

namespace headway::cache {

class DirectoryLock {
 public:
  // The directory must be there. Waits for another one's end, at most so long.
  static base::Result<DirectoryLock> take(const std::string& directory, std::int64_t wait_ns);

 private:
  explicit DirectoryLock(base::UniqueFd fd) : fd_(std::move(fd)) {}
  base::UniqueFd fd_;
};

}  // namespace headway::cache
