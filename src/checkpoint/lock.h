// One writer a folder: a lock on <folder>/.lock, with who holds it written inside, so that the
// second one can say whom it waits for. The kernel lets go of it when its owner dies; the file
// stays. Of the real file system only: it is no part of what survives a crash. One owner: a process
// that was forked meanwhile has the descriptor too, and neither keeps the lock nor gives it back.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/file.h"
#include "base/status.h"

namespace headway::checkpoint {

class FolderLock {
 public:
  // `purpose` in a word or two, for the other one's message. The folder must be there.
  // `name` of its file, where it is for a part of the folder only.
  static base::Result<FolderLock> take(const std::string& folder, const std::string& purpose,
                                       const std::string& name = ".lock");
  ~FolderLock();
  FolderLock(FolderLock&&) = default;
  FolderLock& operator=(FolderLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(owner_, other.owner_);
    return *this;
  }
  // Is it still the lock of this folder, and ours? Not if that, or its .lock, is another by now.
  [[nodiscard]] bool is_at(const std::string& folder) const;

 private:
  explicit FolderLock(base::UniqueFd fd);
  base::UniqueFd fd_;
  pid_t owner_;
};

}  // namespace headway::checkpoint
