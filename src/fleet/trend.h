// One number day by day, for the fleet or for its largest groups. Each day is reckoned as a roll-up
// of that day would be (rollup.h), with the same intervals. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/selection.h"
#include "timeline/bucket.h"

namespace headway::fleet {

struct Metric {
  enum class Kind : std::uint8_t {
    ett_pct,
    idleness_pct,
    failure_pct,
    time_to_start_s,
    time_to_recover_s,
    failures_per_1000_device_hours,
    unsaved_pct,  // unsaved device time at the failures of a day, of the device time of that day
    checkpoint_blocked_pct,
    bucket,  // its share in %
  };
  Kind kind = Kind::ett_pct;
  timeline::Bucket bucket = timeline::Bucket::effective;  // of Kind::bucket
  bool operator==(const Metric&) const = default;
};
// "ett_pct", …, "bucket:compile_cold". None: no such metric.
[[nodiscard]] std::optional<Metric> parse_metric(std::string_view name);
[[nodiscard]] std::string metric_name(const Metric& metric);
[[nodiscard]] std::string_view metric_unit(
    const Metric& metric);  // "%", "s", "1/1000 device-hours"

struct TrendSeries {
  std::vector<std::string> key;                         // empty: all; of the rest: {"other"}
  std::vector<std::optional<double>> value, low, high;  // one a day
  std::vector<double> device_hours;
};

struct Trend {
  std::int32_t from_day = 0;        // the days are from here on
  std::vector<TrendSeries> series;  // most device-hours first, the rest last
};

inline constexpr std::uint32_t trend_series_max = 12;  // and one for the rest
inline constexpr std::int32_t trend_days_max = 1100;   // the latest
// `by` holds none, one or two dimensions.
[[nodiscard]] Trend trend(const Snapshot& snapshot, const Selection& selection,
                          const Metric& metric, const std::vector<Dimension>& by);

}  // namespace headway::fleet
