// The few file calls that several folders need, with messages that name the file. No exceptions.
// Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace headway::base {

// Owns one file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { reset(); }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

// "PATH: ACTION: No such file or directory (errno 2)".
[[nodiscard]] Status errno_status(std::string_view path, std::string_view action, int error);

// mkdir -p. Returns 0 or a positive errno, for callers that may not allocate a message.
[[nodiscard]] int make_dirs_errno(const std::string& path);
Status make_dirs(const std::string& path);

// The whole of a file of at most bytes_max bytes.
Result<std::string> read_file(const std::string& path, std::size_t bytes_max);

// Old or new, never half: a temporary beside it, fsync, rename, fsync of the folder where that
// works. Several may write at once. What a job's life hangs on is written by file_system.h.
Status write_file_atomic(const std::string& path, std::string_view content);

// Paths of all regular files below `dir` (depth_max folders down) that end in `suffix`, sorted;
// at most files_max, beyond which it is an error. Folders that vanish meanwhile are skipped.
// More than list_entries_max entries on the way are an error too: somebody named the wrong folder.
inline constexpr std::size_t list_entries_max = 300'000;
Result<std::vector<std::string>> list_files(const std::string& dir, std::string_view suffix,
                                            int depth_max, std::size_t files_max);

// pread until `bytes` are there or the file ends; the number read, or -1 with errno.
[[nodiscard]] long pread_full(int fd, void* data, std::size_t bytes, std::size_t offset);

}  // namespace headway::base
