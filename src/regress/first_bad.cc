#include "regress/first_bad.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace headway::regress {
namespace {

constexpr double kPositionNats = 3.68;  // (1 - e^-x)² = 95%
constexpr double kClip = 3;             // spreads beyond the levels: one outlier decides nothing

}  // namespace

std::optional<FirstBad> first_bad(std::span<const Sample> samples, double before, double after,
                                  double spread) {
  if (samples.empty() || spread <= 0 || before == after) return std::nullopt;
  std::vector<Sample> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted, [](const Sample& a, const Sample& b) {
    return a.t_ns != b.t_ns ? a.t_ns < b.t_ns : a.index < b.index;
  });
  const double low = std::min(before, after) - kClip * spread;
  const double high = std::max(before, after) + kClip * spread;
  // gain[i]: log-likelihood of the first i being of before, the others of after.
  std::vector<double> gain(sorted.size() + 1, 0);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double value = std::clamp(sorted[i].sum, low, high);
    const double from_before = value - before, from_after = value - after;
    gain[i + 1] =
        gain[i] + (from_after * from_after - from_before * from_before) / (2 * spread * spread);
  }
  const auto best = std::max_element(gain.begin(), gain.end());
  std::size_t first = static_cast<std::size_t>(best - gain.begin()), last = first;
  const std::size_t at = std::min(first, sorted.size() - 1);
  for (std::size_t i = 0; i < gain.size(); ++i) {
    if (gain[i] < *best - kPositionNats) continue;
    first = std::min(first, i);
    last = std::max(last, i);
  }
  FirstBad out;
  out.t_ns = sorted[at].t_ns;
  out.low_ns = sorted[first == 0 ? 0 : first - 1].t_ns;
  out.high_ns = sorted[std::min(last, sorted.size() - 1)].t_ns;
  return out;
}

}  // namespace headway::regress
