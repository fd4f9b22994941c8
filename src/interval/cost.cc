#include "interval/cost.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headway::interval {
namespace {

// std::clamp wants lo <= hi; here the lower end is a fact and the upper one a wish.
double within(double value, double lo, double hi) {
  return std::max(lo, std::min(value, hi));
}

}  // namespace

const char* tier_name(Tier tier) {
  switch (tier) {
    case Tier::process:
      return "process";
    case Tier::node:
      return "node";
    case Tier::zone:
      break;
  }
  return "zone";
}

double Failures::per_s() const {
  return per_s(Answer::staged) + per_s(Answer::durable);
}

double Failures::per_s(Answer answer) const {
  double sum = 0;
  for (const TierRate& tier : tiers) {
    sum += tier.per_s * (answer == Answer::staged ? tier.staged : 1 - tier.staged);
  }
  return sum;
}

Failures Failures::times(double factor) const {
  Failures out = *this;
  for (TierRate& tier : out.tiers) tier.per_s *= factor;
  return out;
}

Failures one_rate(double per_s) {
  Failures out;
  out[Tier::node].per_s = per_s;
  return out;
}

Waste waste_at(const Plan& plan, const SaveCost& cost, const Failures& failures) {
  const double staged = failures.per_s(Answer::staged);
  const double durable = failures.per_s(Answer::durable);
  Waste out;
  // Every save into storage is one into memory first: only the others are paid for beside it.
  out.saving = cost.effective_s() / plan.persist_s;
  if (plan.stage_s < plan.persist_s) {
    out.saving += cost.stage_s * (1 / plan.stage_s - 1 / plan.persist_s);
  }
  out.lost = (staged * plan.stage_s + durable * plan.persist_s) / 2;
  out.lag = durable * cost.persist_lag_s;
  return out;
}

Waste waste_at(double interval_s, const SaveCost& cost, const Failures& failures) {
  return waste_at(Plan{interval_s, interval_s}, cost, failures);
}

double young_interval_s(double cost_s, double failures_per_s) {
  if (failures_per_s <= 0) return std::numeric_limits<double>::infinity();
  return std::sqrt(2 * cost_s / failures_per_s);
}

Plan best_plan(const SaveCost& cost, const Failures& failures, const Bounds& bounds) {
  const double staged = failures.per_s(Answer::staged);
  const double durable = failures.per_s(Answer::durable);
  const double floor_s = std::max(bounds.min_s, cost.floor_s());
  if (staged > 0) {
    // The waste is a sum of one convex term of each interval, so each may be had by itself.
    const double extra_s = std::max(0.0, cost.effective_s() - cost.stage_s);
    const Plan apart{
        within(young_interval_s(cost.stage_s, staged), bounds.stage_min_s, bounds.max_s),
        within(young_interval_s(extra_s, durable), floor_s, bounds.max_s)};
    if (apart.stage_s < apart.persist_s) return apart;
  }
  const double both =
      within(young_interval_s(cost.effective_s(), staged + durable), floor_s, bounds.max_s);
  return {both, both};
}

double cost_of_wrong_rate(double factor, const SaveCost& cost, const Failures& failures,
                          const Bounds& bounds) {
  const double best = waste_at(best_plan(cost, failures, bounds), cost, failures).total();
  const Plan wrong = best_plan(cost, failures.times(factor), bounds);
  return best > 0 ? waste_at(wrong, cost, failures).total() / best : 1;
}

}  // namespace headway::interval
