// The same question without the first-order shortcut: failures come at random (exponentially), may
// hit a save as well as a step, and what is done again may fail again. For comparison with cost.h,
// and to know where the shortcut stops being good: when a cost is no longer small against the time
// between failures. Seconds. Pure; any thread.
#pragma once

namespace headway::interval {

struct Exponential {
  double cost_s = 0;         // of a save
  double mean_s = 0;         // between failures; above 0
  double persist_lag_s = 0;  // every failure loses so much on top
};

// Share of the wall that is not new work, with saves after every `interval_s` of work.
[[nodiscard]] double exact_waste(double interval_s, const Exponential& job);
// Where that is least, to a relative error of 1e-9.
[[nodiscard]] double exact_interval_s(const Exponential& job);
// Daly's higher-order estimate of it; meant for costs below half the time between failures.
[[nodiscard]] double daly_interval_s(const Exponential& job);

}  // namespace headway::interval
