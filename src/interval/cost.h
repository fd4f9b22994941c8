// What saving too often and saving too rarely cost together, as a share of the time in the training
// loop, and the interval at which that is least.
//
//   waste = cost of a save ÷ interval + failures a second × interval ÷ 2   (first order)
//
// A save costs what it blocks *and* what it slows the steps down until it is durable. A failure
// loses what came after the newest state that outlived it: one held in memory (staged) survives the
// process, one on storage (durable) survives the machine too, but only once it has got there, which
// takes the persist lag. What a restart costs is left out: no interval changes it.
//
// Seconds and rates a second, as doubles. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headway::interval {

// How much a failure takes with it.
enum class Tier : std::uint8_t { process, node, zone };
inline constexpr std::size_t kTiers = 3;
[[nodiscard]] const char* tier_name(Tier tier);

// Which state the next attempt begins from.
enum class Answer : std::uint8_t { staged, durable };

struct TierRate {
  double per_s = 0;
  double staged = 0;  // the share of them that is answered by staged state
};

struct Failures {
  std::array<TierRate, kTiers> tiers{};

  TierRate& operator[](Tier tier) { return tiers[static_cast<std::size_t>(tier)]; }
  const TierRate& operator[](Tier tier) const { return tiers[static_cast<std::size_t>(tier)]; }
  [[nodiscard]] double per_s() const;               // all of them
  [[nodiscard]] double per_s(Answer answer) const;  // those that begin again from there
  [[nodiscard]] Failures times(double factor) const;
};
// One rate, answered by durable state.
[[nodiscard]] Failures one_rate(double per_s);

struct SaveCost {
  double blocking_s = 0;      // the loop stands still
  double interference_s = 0;  // what slower steps add up to until the save is durable
  double persist_lag_s = 0;   // from the end of the blocking to durable
  int in_flight_max = 1;      // saves that may be on their way at once
  double stage_s = 0;  // of a save into memory only; not used unless a tier is answered there

  [[nodiscard]] double effective_s() const { return blocking_s + interference_s; }
  // More often than this, saves would queue up behind one another.
  [[nodiscard]] double floor_s() const { return persist_lag_s / in_flight_max; }
};

struct Bounds {
  double min_s = 0;
  double max_s = 30 * 86'400;
  double stage_min_s = 0;  // of saves into memory only
};

struct Waste {
  double saving = 0;
  double lost = 0;  // work since the state that answers
  double lag = 0;   // work done while that state was on its way to storage
  [[nodiscard]] double total() const { return saving + lost + lag; }
};

// How often to save: into memory, and on to storage. Equal where memory is of no use.
struct Plan {
  double stage_s = 0;
  double persist_s = 0;
};

[[nodiscard]] Waste waste_at(const Plan& plan, const SaveCost& cost, const Failures& failures);
// One interval for both.
[[nodiscard]] Waste waste_at(double interval_s, const SaveCost& cost, const Failures& failures);

// √(2·T·δ/F): no bounds, one interval. Infinite without failures.
[[nodiscard]] double young_interval_s(double cost_s, double failures_per_s);

// The plan that wastes least within the bounds and the cost's floor (the floor wins over max_s).
[[nodiscard]] Plan best_plan(const SaveCost& cost, const Failures& failures,
                             const Bounds& bounds = {});

// By how much more is wasted, as a factor, when the plan was made for `factor` times the true rate.
[[nodiscard]] double cost_of_wrong_rate(double factor, const SaveCost& cost,
                                        const Failures& failures, const Bounds& bounds = {});

}  // namespace headway::interval
