#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "cli/human.h"
#include "cli/page.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kFirstNs = 1'000'000'000;
constexpr std::int64_t kNextNs = 100'000'000;
constexpr int kCells = 24;
constexpr int kLabelColumns = 40;

}  // namespace

ProgressBar::ProgressBar(std::string label, std::uint64_t total_bytes)
    : label_(std::move(label)),
      total_(total_bytes),
      shown_(::isatty(STDERR_FILENO) == 1),
      style_(choose_style(probe_output(STDERR_FILENO), ColorWhen::automatic, {})),
      begin_ns_(base::monotonic_ns()),
      drawn_ns_(begin_ns_ + kFirstNs - kNextNs) {}

std::string progress_line(const std::string& label, std::uint64_t done, std::uint64_t total,
                          std::int64_t elapsed_ns, const Style& style) {
  total = std::max(total, done);
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1.0;
  const double seconds = static_cast<double>(elapsed_ns) / 1e9;
  const double speed = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  Line line;
  line.add(prefix_of(clean(label, style), kLabelColumns)).add("  ");
  constexpr std::int64_t kParts = 10'000;
  const std::string filled = bar(static_cast<std::int64_t>(share * kParts), kParts, kCells, style);
  line.add(filled, Ink::effective);
  line.add(std::string(static_cast<std::size_t>(kCells - columns_of(filled)),
                       style.unicode ? ' ' : '.'));
  line.add(fmt::format("  {:3.0f}%  {} of {}", share * 100, human_bytes(done), human_bytes(total)));
  if (speed >= 1) {
    line.add(fmt::format("  {}/s", human_bytes(static_cast<std::uint64_t>(speed))));
    const double left = static_cast<double>(total - done) / speed;
    if (left < 1e7) line.add(fmt::format("  {:.0f} s left", left), Ink::dim);
  }
  return line.render(style);
}

void ProgressBar::add(std::uint64_t bytes) {
  done_ += bytes;
  if (!shown_) return;
  const std::int64_t now_ns = base::monotonic_ns();
  if (now_ns - drawn_ns_ < kNextNs) return;
  drawn_ns_ = now_ns;
  dirty_ = true;
  const std::string line = progress_line(label_, done_, total_, now_ns - begin_ns_, style_);
  std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (dirty_) std::fputs("\r\x1b[K", stderr);
  dirty_ = false;
}

}  // namespace headway::cli
