// Rises that are no regressions: time that only moved from one phase to another, a level that rose
// because other jobs ran, recoveries that a wave of preemptions made. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "fleet/fact.h"
#include "regress/change.h"
#include "regress/observe.h"

namespace headway::regress {

// A series with the sums over it.
struct Watched {
  const Series* series = nullptr;
  Evidence evidence;
};

// What a change costs: device-seconds a day more than without it; < 0: it saves.
[[nodiscard]] double cost_per_day(const Series& series, const Change& change);

// The same days, in another series of the stratum. None where it has no data on a side.
[[nodiscard]] std::optional<Change> same_days(const Evidence& from, const Change& change,
                                              const Evidence& other);

struct Moved {
  double rose = 0, fell = 0;  // device-seconds a day, over all components that surely changed
  [[nodiscard]] bool only_moved() const { return fell >= moved_share_min * rose; }
  static constexpr double moved_share_min = 0.75;
};
// `stratum`: all series of the stratum, `own` among them.
[[nodiscard]] Moved moved(std::span<const Watched> stratum, std::size_t own, const Change& change);

// Does a change of recoveries go with a change of how often jobs are preempted?
[[nodiscard]] bool with_preemptions(std::span<const Watched> stratum, std::size_t own,
                                    const Change& change);

// Of the difference between the levels of two sets of samples, the share that is due to another mix
// of a dimension's values (Δ = Σ w̄·Δrate + Σ (r̄ - R)·Δw; values that came or went count as mix).
[[nodiscard]] double mix_share(std::span<const fleet::AttemptFacts> facts,
                               std::span<const Sample> before, std::span<const Sample> after,
                               fleet::Dimension dimension);

// The dimension beside `by` whose mix explains most of it, if that is at least half. Dimensions
// that say who runs where are asked; versions and settings are causes, not mix.
[[nodiscard]] std::optional<fleet::Dimension> explained_by_mix(
    std::span<const fleet::AttemptFacts> facts, std::span<const Sample> before,
    std::span<const Sample> after, std::span<const fleet::Dimension> by);

}  // namespace headway::regress
