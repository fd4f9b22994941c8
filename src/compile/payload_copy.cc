#include "compile/payload_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/cut_text.h"

namespace headway::compile {
namespace {

using base::Result;
using base::Status;

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

// Appends `text` without the tab at the beginning of each line. `at_start`: of a line.
void append_untabbed(std::string_view text, bool& at_start, std::string& out) {
  out.resize(text.size());
  char* to = out.data();
  while (!text.empty()) {
    if (at_start && text.front() == '\t') text.remove_prefix(1);
    const void* const found = text.empty() ? nullptr : std::memchr(text.data(), '\n', text.size());
    const std::size_t bytes =
        found == nullptr
            ? text.size()
            : static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) + 1;
    if (bytes > 0) std::memcpy(to, text.data(), bytes);
    to += bytes;
    text.remove_prefix(bytes);
    at_start = found != nullptr;
  }
  out.resize(static_cast<std::size_t>(to - out.data()));
}

}  // namespace

Result<PayloadSource> PayloadSource::open(const std::string& path) {
  auto pieces = LogPieces::open(path);
  if (!pieces.ok()) return pieces.status();
  return PayloadSource(path, std::move(*pieces));
}

Status PayloadSource::read(std::uint64_t at, std::size_t bytes, std::string& into) const {
  into.resize(bytes);
  const long n = pieces_.read(into.data(), bytes, at);
  if (n < 0) return base::errno_status(path_, "cannot read", errno);
  if (static_cast<std::size_t>(n) == bytes) return {};
  return Status::invalid(fmt::format(
      "{}: has become shorter while it was read; try again when its job has ended", path_));
}

Status PayloadSource::copy(const Place& place, const std::function<bool(std::string_view)>& sink) {
  bool at_start = true;
  for (std::uint64_t done = 0; done < place.bytes;) {
    const auto bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(kChunkBytes, place.bytes - done));
    if (Status status = read(place.at + done, bytes, chunk_); !status.ok()) return status;
    done += bytes;
    std::string_view piece = chunk_;
    // The line break behind the last line is the log's.
    if (done == place.bytes && piece.ends_with('\n')) piece.remove_suffix(1);
    append_untabbed(piece, at_start, lines_);
    if (!sink(lines_)) return {};
  }
  return {};
}

Result<std::string> PayloadSource::raw(const Place& place, std::size_t bytes_max) const {
  std::string out;
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(place.bytes, bytes_max));
  if (Status status = read(place.at, bytes, out); !status.ok()) return status;
  return out;
}

Result<std::string> PayloadSource::text(const Place& place, std::size_t bytes_max) {
  std::string out;
  // Tabs are dropped: a little more than what is wanted is enough, the rest is never read.
  const Place front{place.at, std::min<std::uint64_t>(place.bytes, 2 * std::uint64_t{bytes_max})};
  const Status status = copy(front, [&](std::string_view piece) {
    out += piece;
    return out.size() < bytes_max;
  });
  if (!status.ok()) return status;
  return std::string(base::cut_text(out, bytes_max));
}

}  // namespace headway::compile
