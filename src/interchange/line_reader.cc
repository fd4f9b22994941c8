#include "interchange/line_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace headway::interchange {
namespace {

constexpr std::size_t kChunkBytes = 1 << 20;
constexpr std::size_t kBufferBytes = kLineBytesMax + kChunkBytes;

}  // namespace

base::Result<LineReader> LineReader::open(const std::string& path) {
  if (path == "-") return LineReader("standard input", base::UniqueFd(STDIN_FILENO), false);
  base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return base::errno_status(path, "cannot open", errno);
  return LineReader(path, std::move(fd), true);
}

LineReader::LineReader(std::string name, base::UniqueFd fd, bool owned)
    : name_(std::move(name)),
      fd_(std::move(fd)),
      owned_(owned),
      buffer_(kBufferBytes + kLinePaddingBytes) {}

LineReader::~LineReader() {
  if (!owned_) fd_.release();
}

// Moves what is left to the front and reads more behind it. False when there is no more.
bool LineReader::fill() {
  if (ended_) return false;
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  HW_CHECK(end_ < kBufferBytes);
  for (;;) {
    const ssize_t n = ::read(fd_.get(), buffer_.data() + end_, kBufferBytes - end_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) status_ = base::errno_status(name_, "cannot read", errno);
    if (n <= 0) {
      ended_ = true;
      return false;
    }
    end_ += static_cast<std::size_t>(n);
    HW_CHECK(end_ <= kBufferBytes);
    return true;
  }
}

void LineReader::skip_rest_of_line() {
  for (;;) {
    const void* found = std::memchr(buffer_.data() + begin_, '\n', end_ - begin_);
    if (found != nullptr) {
      begin_ = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data()) + 1;
      return;
    }
    begin_ = end_;
    if (!fill()) return;
  }
}

bool LineReader::next(std::string_view& line) {
  if (number_ > 0 && scanned_ == kLineBytesMax + 1) skip_rest_of_line();
  scanned_ = 0;
  for (;;) {
    const char* from = buffer_.data() + begin_ + scanned_;
    const void* found = std::memchr(from, '\n', end_ - begin_ - scanned_);
    const std::size_t length =
        found != nullptr
            ? static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data()) - begin_
            : end_ - begin_;
    if (length > kLineBytesMax) {
      line = {buffer_.data() + begin_, kLineBytesMax + 1};
      scanned_ = kLineBytesMax + 1;  // remembered: the rest is skipped by the next call
      begin_ += kLineBytesMax;
      ++number_;
      return true;
    }
    scanned_ = length;
    if (found == nullptr && fill()) continue;
    if (!status_.ok() || (found == nullptr && length == 0)) return false;
    line = {buffer_.data() + begin_, length};
    begin_ += length + (found != nullptr ? 1 : 0);
    scanned_ = 0;
    ++number_;
    if (number_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return true;
  }
}

}  // namespace headway::interchange
