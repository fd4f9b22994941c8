#include "interval/rate.h"

#include <algorithm>

#include "interval/gamma.h"

namespace headway::interval {

double History::total() const {
  double sum = 0;
  for (const double count : failures) sum += count;
  return sum;
}

History& History::operator+=(const History& other) {
  for (std::size_t i = 0; i < kTiers; ++i) failures[i] += other.failures[i];
  seconds += other.seconds;
  return *this;
}

double Answered::total(Answer answer) const {
  double sum = 0;
  for (const double count : answer == Answer::staged ? staged : durable) sum += count;
  return sum;
}

double Posterior::quantile_per_s(double p) const {
  return gamma_quantile(shape, p) / seconds;
}

Range credible_range(const Posterior& posterior, double mass) {
  const double tail = (1 - mass) / 2;
  return {posterior.quantile_per_s(tail), posterior.quantile_per_s(1 - tail)};
}

RateEstimate::RateEstimate(const Prior& prior, const History& family) : prior_(prior) {
  double weight = prior.family_weight;
  if (family.seconds > 0) weight = std::min(weight, Prior::family_max_s / family.seconds);
  for (std::size_t i = 0; i < kTiers; ++i) family_.failures[i] = weight * family.failures[i];
  family_.seconds = weight * family.seconds;
}

Posterior RateEstimate::of(Tier tier) const {
  const auto i = static_cast<std::size_t>(tier);
  return {prior_.shape * prior_.share[i] + family_.failures[i] + own_.failures[i],
          prior_.seconds + family_.seconds + own_.seconds};
}

Posterior RateEstimate::all() const {
  return {prior_.shape + family_.total() + own_.total(),
          prior_.seconds + family_.seconds + own_.seconds};
}

Failures RateEstimate::failures(bool replica, const Answered& seen) const {
  Failures out;
  for (const Tier tier : {Tier::process, Tier::node, Tier::zone}) {
    out[tier].per_s = of(tier).mean_per_s();
    if (!replica) continue;
    const auto i = static_cast<std::size_t>(tier);
    const double staged = seen.staged[i] + (tier == Tier::process ? 1 : 0);
    out[tier].staged = staged / (seen.staged[i] + seen.durable[i] + 1);
  }
  return out;
}

}  // namespace headway::interval
