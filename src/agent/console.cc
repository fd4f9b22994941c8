#include "agent/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/check.h"

namespace headway::agent {
namespace {

bool is_same_file(int a, int b) {
  struct stat sa{};
  struct stat sb{};
  if (::fstat(a, &sa) != 0 || ::fstat(b, &sb) != 0) return false;
  return sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino && sa.st_rdev == sb.st_rdev;
}

bool wants_color(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  return ::isatty(fd) == 1 && (no_color == nullptr || *no_color == '\0');
}

}  // namespace

void Sink::push(std::string bytes) {
  if (gone_ || bytes.empty()) return;
  pending_bytes_ += bytes.size();
  queue_.push_back(std::move(bytes));
}

void Sink::abandon() {
  gone_ = true;
  queue_.clear();
  front_written_ = 0;
  pending_bytes_ = 0;
}

void Sink::flush() {
  while (!queue_.empty()) {
    pollfd ready{fd_, POLLOUT, 0};
    if (::poll(&ready, 1, 0) != 1) return;
    const std::string& front = queue_.front();
    HW_CHECK(front_written_ < front.size());
    const std::size_t want = std::min(front.size() - front_written_, chunk_bytes_max);
    const ssize_t got = ::write(fd_, front.data() + front_written_, want);
    if (got < 0) {
      if (errno == EAGAIN || errno == EINTR) return;
      abandon();  // EPIPE, a full disk: the ranks go on, their log files have the output
      return;
    }
    front_written_ += static_cast<std::size_t>(got);
    pending_bytes_ -= static_cast<std::size_t>(got);
    if (front_written_ == front.size()) {
      queue_.pop_front();
      front_written_ = 0;
    }
  }
  HW_CHECK(pending_bytes_ == 0);
}

Console::Console(bool quiet)
    : quiet_(quiet),
      same_(is_same_file(STDOUT_FILENO, STDERR_FILENO)),
      color_out_(wants_color(STDOUT_FILENO)),
      color_err_(wants_color(STDERR_FILENO)),
      out_(STDOUT_FILENO),
      err_(STDERR_FILENO) {}

void Console::warn(std::string_view text) {
  err().push(fmt::format("headway: {}\n", text));
  err().flush();
}

void Console::note(std::string_view text) {
  if (!quiet_) warn(text);
}

std::string Console::prefix(int rank, bool is_stderr) const {
  if (!(is_stderr ? color_err_ : color_out_)) return fmt::format("[{}] ", rank);
  constexpr int kColors[] = {36, 33, 32, 35, 34, 31};
  return fmt::format("\x1b[{}m[{}]\x1b[0m ", kColors[static_cast<std::size_t>(rank) % 6], rank);
}

RankLog::RankLog(std::string path) : path_(std::move(path)) {
  reopen();
}

void RankLog::reopen() {
  HW_CHECK(!path_.empty());
  file_ = base::UniqueFd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  bytes_ = 0;
}

void RankLog::append(std::string_view bytes) {
  if (!file_.valid()) return;
  if (bytes_ >= half_bytes_max) {
    std::rename(path_.c_str(), (path_ + ".1").c_str());
    reopen();
    if (!file_.valid()) return;
  }
  while (!bytes.empty()) {
    const ssize_t got = ::write(file_.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      file_.reset();
      return;
    }
    bytes_ += static_cast<std::uint64_t>(got);
    bytes.remove_prefix(static_cast<std::size_t>(got));
  }
}

}  // namespace headway::agent
