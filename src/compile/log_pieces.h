// A log that somebody rotated lies in several files: X.log is the newest, X.log.1 what was before
// it, X.log.2 what was before that (logrotate and Python's handlers), or X.log-20260101 (logrotate
// with dates). Behind one another they are the log as torch wrote it: a record may be cut anywhere
// between two of them. Here a log is called by its newest file's name, whether or not that is
// there. Nothing but file names and descriptors; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace headway::compile {

inline constexpr std::size_t kPiecesMax = 500;  // of one log

// "X.log.3" and "X.log-20260101" → "X.log"; any other name as it is. Pure.
[[nodiscard]] std::string log_of(const std::string& path);
// The files of a log that are there, the oldest first. None: there is no such log.
base::Result<std::vector<std::string>> pieces_of(const std::string& log);

// All files of a log, to be read anywhere as if they were one.
class LogPieces {
 public:
  static base::Result<LogPieces> open(const std::string& log);
  // As many bytes as there are from that place on, up to so many; negative: an error, in errno.
  [[nodiscard]] long read(void* into, std::size_t bytes, std::uint64_t at) const;

 private:
  struct Piece {
    base::UniqueFd fd;
    std::uint64_t begin = 0;
  };
  std::vector<Piece> pieces_;
};

}  // namespace headway::compile
