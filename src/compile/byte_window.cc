#include "compile/byte_window.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace headway::compile {
namespace {

constexpr std::size_t kReadBytes = std::size_t{256} << 10;

}  // namespace

ByteWindow::ByteWindow(std::string path, base::UniqueFd fd, std::vector<std::string> following)
    : path_(std::move(path)),
      fd_(std::move(fd)),
      following_(std::move(following)),
      bytes_(2 * kReadBytes + kPaddingBytes) {}

// Only one is open at a time, however many there are.
bool ByteWindow::open_next() {
  if (next_ == following_.size()) return false;
  path_ = following_[next_++];
  fd_ = base::UniqueFd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd_.valid()) return true;
  status_ = base::errno_status(path_, "cannot open", errno);
  return false;
}

bool ByteWindow::more() {
  if (ended_) return false;
  if (bytes_.size() - kPaddingBytes - end_ < kReadBytes && begin_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (bytes_.size() - kPaddingBytes - end_ < kReadBytes) bytes_.resize(2 * bytes_.size());
  for (;;) {
    const ssize_t n = ::read(fd_.get(), bytes_.data() + end_, kReadBytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) status_ = base::errno_status(path_, "cannot read", errno);
    if (n == 0 && open_next()) continue;
    if (n <= 0) {
      ended_ = true;
      return false;
    }
    end_ += static_cast<std::size_t>(n);
    return true;
  }
}

void ByteWindow::drop(std::size_t bytes) {
  HW_CHECK(bytes <= end_ - begin_);
  begin_ += bytes;
  position_ += bytes + cut_bytes_;
  cut_bytes_ = 0;
  if (begin_ == end_) begin_ = end_ = 0;
}

void ByteWindow::cut(std::size_t from, std::size_t bytes) {
  HW_CHECK(from <= end_ - begin_ && bytes <= end_ - begin_ - from);
  char* const hole = bytes_.data() + begin_ + from;
  std::memmove(hole, hole + bytes, end_ - begin_ - from - bytes);
  end_ -= bytes;
  cut_bytes_ += bytes;
}

}  // namespace headway::compile
