#include <algorithm>
#include <bit>
#include <cmath>

#include "timeline/attempt.h"

namespace headway::timeline {
namespace {

// 16 bins an octave: the exponent, then the next four bits.
std::size_t bin_of(std::int64_t ns) {
  const auto v = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 1));
  const auto exponent = static_cast<unsigned>(std::bit_width(v) - 1);
  const std::uint64_t mantissa =
      exponent >= 4 ? (v >> (exponent - 4)) & 15 : (v << (4 - exponent)) & 15;
  return exponent * 16 + static_cast<std::size_t>(mantissa);
}

std::int64_t upper_edge_ns(std::size_t bin) {
  const double low = static_cast<double>(std::uint64_t{1} << (bin / 16));
  return static_cast<std::int64_t>(low * (1.0 + static_cast<double>(bin % 16 + 1) / 16.0));
}

}  // namespace

void StepTimes::add(std::int64_t ns) {
  min_ns = count == 0 ? ns : std::min(min_ns, ns);
  max_ns = count == 0 ? ns : std::max(max_ns, ns);
  ++count;
  sum_ns += ns;
  ++bins[bin_of(ns)];
}

StepTimes& StepTimes::operator+=(const StepTimes& o) {
  if (o.count == 0) return *this;
  min_ns = count == 0 ? o.min_ns : std::min(min_ns, o.min_ns);
  max_ns = count == 0 ? o.max_ns : std::max(max_ns, o.max_ns);
  count += o.count;
  sum_ns += o.sum_ns;
  for (std::size_t i = 0; i < bins.size(); ++i) bins[i] += o.bins[i];
  return *this;
}

std::int64_t StepTimes::quantile_ns(double q) const {
  if (count == 0) return 0;
  // Nearest rank: the smallest value that q of all do not exceed.
  const auto want = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(count)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    seen += bins[i];
    if (seen >= std::max<std::uint64_t>(want, 1))
      return std::clamp(upper_edge_ns(i), min_ns, max_ns);
  }
  return max_ns;
}

}  // namespace headway::timeline
