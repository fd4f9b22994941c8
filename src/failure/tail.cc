#include "failure/tail.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "failure/redact.h"

namespace headway::failure {
namespace {

// memchr() is several times as fast as a loop over bytes.
std::uint64_t count_line_ends(std::string_view bytes) {
  std::uint64_t count = 0;
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos;
       end = bytes.find('\n', end + 1)) {
    ++count;
  }
  return count;
}

std::string_view shown_last(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t back = line.rfind('\r');
  return back == std::string_view::npos ? line : line.substr(back + 1);
}

}  // namespace

std::string TailLines::note() const {
  if (cut_bytes == 0) return {};
  return fmt::format("{} line{} ({} bytes) before", cut_lines, cut_lines == 1 ? "" : "s",
                     cut_bytes);
}

Tail::Tail(std::size_t lines_max, std::size_t bytes_max)
    : lines_max_(lines_max), bytes_max_(bytes_max) {
  HW_CHECK(lines_max_ > 0 && bytes_max_ > 0);
}

void Tail::clear() {
  ring_.clear();
  next_ = 0;
  bytes_ = line_ends_ = 0;
}

void Tail::feed(std::string_view bytes) {
  bytes_ += bytes.size();
  line_ends_ += count_line_ends(bytes);
  if (bytes.size() > bytes_max_) bytes.remove_prefix(bytes.size() - bytes_max_);
  const std::size_t grows = std::min(bytes.size(), bytes_max_ - ring_.size());
  ring_ += bytes.substr(0, grows);
  bytes.remove_prefix(grows);
  while (!bytes.empty()) {
    const std::size_t fits = std::min(bytes.size(), bytes_max_ - next_);
    std::memcpy(ring_.data() + next_, bytes.data(), fits);
    next_ = (next_ + fits) % bytes_max_;
    bytes.remove_prefix(fits);
  }
}

TailLines Tail::lines() const {
  const std::string straight = ring_.substr(next_) + ring_.substr(0, next_);
  std::string_view rest = straight;
  if (bytes_ > rest.size()) {
    // The first line has lost its beginning, and a secret cannot be told by its end.
    const std::size_t end = rest.find('\n');
    if (end != std::string_view::npos && end + 1 < rest.size()) rest.remove_prefix(end + 1);
  }
  struct Line {
    std::string text;
    std::size_t bytes;  // as it was read, with its end
  };
  std::vector<Line> all;
  Redactor redactor;  // over all lines, since a private key may have begun before those shown
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::size_t bytes = end == std::string_view::npos ? rest.size() : end + 1;
    all.push_back({redactor.line(shown_last(rest.substr(0, end))), bytes});
    rest.remove_prefix(bytes);
  }
  while (!all.empty() && all.back().text.empty()) all.pop_back();
  TailLines out;
  const std::size_t from = all.size() - std::min(all.size(), lines_max_);
  std::uint64_t shown_bytes = 0;
  for (std::size_t i = from; i < all.size(); ++i) {
    shown_bytes += all[i].bytes;
    out.lines.push_back(std::move(all[i].text));
  }
  const bool open = !straight.empty() && straight.back() != '\n';
  const std::uint64_t lines_seen = line_ends_ + (open ? 1 : 0);
  out.cut_lines = lines_seen - std::min<std::uint64_t>(lines_seen, out.lines.size());
  out.cut_bytes = bytes_ - shown_bytes;
  return out;
}

}  // namespace headway::failure
