#include "regress/discovery.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace headway::regress {

std::vector<double> q_values(std::span<const double> p, std::size_t tests) {
  HW_CHECK(tests >= p.size());
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> q(p.size());
  double least = 1;
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    const std::size_t i = order[rank - 1];
    least = std::min(least, p[i] * static_cast<double>(tests) / static_cast<double>(rank));
    q[i] = least;
  }
  return q;
}

}  // namespace headway::regress
