// Where output goes: our own stdout and stderr, and a bounded copy on disk. Single-threaded.
//
// A Sink never blocks the supervisor: bytes wait in a bounded queue and are written when the
// descriptor can take them. When the queue is full its readers stop reading, so a slow terminal
// slows the ranks by their pipes, as it would without us, while exits and signals are still served.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/file.h"

namespace headway::agent {

class Sink {
 public:
  static constexpr std::size_t pending_bytes_max = 1 << 20;
  // A descriptor that polls writable takes this much of a pipe without blocking (PIPE_BUF).
  static constexpr std::size_t chunk_bytes_max = 4096;

  explicit Sink(int fd) : fd_(fd) {}

  void push(std::string bytes);
  // Writes what can be written now.
  void flush();
  void abandon();

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool pending() const { return pending_bytes_ > 0; }
  [[nodiscard]] bool full() const { return pending_bytes_ >= pending_bytes_max; }

 private:
  int fd_;
  bool gone_ = false;  // the reader has left: everything more is dropped, the ranks go on
  std::deque<std::string> queue_;
  std::size_t front_written_ = 0;
  std::size_t pending_bytes_ = 0;
};

class Console {
 public:
  explicit Console(bool quiet);

  [[nodiscard]] Sink& out() { return out_; }
  // One queue where both are the same file, or lines of the two would mix.
  [[nodiscard]] Sink& err() { return same_ ? out_ : err_; }
  // "headway: TEXT". note() is silenced by --quiet, warn() is not.
  void note(std::string_view text);
  void warn(std::string_view text);
  // The prefix of a rank's lines on stdout or stderr; coloured on a terminal unless NO_COLOR is
  // set.
  [[nodiscard]] std::string prefix(int rank, bool is_stderr) const;

 private:
  bool quiet_;
  bool same_;
  bool color_out_;
  bool color_err_;
  Sink out_;
  Sink err_;
};

// The last bytes of a rank's output on disk: NAME holds the newest, NAME.1 the half before. A write
// that fails ends the copy, never the rank.
class RankLog {
 public:
  static constexpr std::uint64_t half_bytes_max = 32ull << 20;

  RankLog() = default;  // keeps nothing
  explicit RankLog(std::string path);
  void append(std::string_view bytes);

 private:
  void reopen();

  std::string path_;
  base::UniqueFd file_;
  std::uint64_t bytes_ = 0;
};

}  // namespace headway::agent
