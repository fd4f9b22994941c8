#include "interval/daly.h"

#include <cmath>

namespace headway::interval {

double exact_waste(double interval_s, const Exponential& job) {
  // One interval and its save take mean·(e^x − 1) of wall on average, x = (interval + cost) / mean,
  // and e^x − 1 is also how often they fail on the way.
  const double tries = std::expm1((interval_s + job.cost_s) / job.mean_s);
  return 1 - interval_s / (job.mean_s * tries) + job.persist_lag_s / job.mean_s;
}

double exact_interval_s(const Exponential& job) {
  // The waste is least where e^x·(1 − t) = 1, with t = interval / mean and x = t + cost / mean. The
  // left side falls from e^(cost/mean) at t = 0 to 0 at t = 1.
  double lo = 0;
  double hi = 1;
  for (int i = 0; i < 100 && hi - lo > 1e-10 * hi; ++i) {
    const double t = (lo + hi) / 2;
    (std::log1p(-t) + t + job.cost_s / job.mean_s > 0 ? lo : hi) = t;
  }
  return (lo + hi) / 2 * job.mean_s;
}

double daly_interval_s(const Exponential& job) {
  const double half = job.cost_s / (2 * job.mean_s);
  if (half >= 1) return job.mean_s;
  const double series = 1 + std::sqrt(half) / 3 + half / 9;
  return std::sqrt(2 * job.cost_s * job.mean_s) * series - job.cost_s;
}

}  // namespace headway::interval
