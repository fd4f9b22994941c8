// Facts of attempts → one series of days for each component of each stratum. Stratifying comes
// before all statistics: a fleet whose mix of jobs shifts has no series that moves. Pure; any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fleet/fact.h"
#include "regress/component.h"

namespace headway::regress {

struct SeriesOptions {
  std::vector<fleet::Dimension> by = {fleet::Dimension::family, fleet::Dimension::hardware,
                                      fleet::Dimension::size};
  std::int32_t days = 60;  // how far back; at most days_max
  std::size_t strata_max = 1000;
  std::size_t series_max = 20'000;
  bool user_errors = false;  // watch failures that are the user's own, too

  static constexpr std::int32_t days_max = 400;
  static constexpr std::size_t categories_max = 64;  // of failures in one stratum
};

// A day of a series. Days without data are not there.
struct Cell {
  std::int32_t day = 0;
  double n = 0;         // observations; trials; device-hours
  double value = 0;     // mean of logarithms, outliers clipped; how often; how often
  double device_s = 0;  // what the component cost
};

struct Series {
  Component component;
  std::size_t stratum = 0;  // of SeriesSet::strata
  double spread = 0;        // log-normal: the standard deviation of one observation's logarithm
  double device_hours = 0;  // of the stratum
  bool watched = true;      // false: only there to explain others by
  std::vector<Cell> cells;  // by day
};

struct Stratum {
  std::vector<std::string> values;      // of SeriesOptions::by
  double device_hours = 0;              // in all days
  std::vector<std::uint32_t> attempts;  // indices of facts that touch the days
};

struct SeriesSet {
  std::vector<fleet::Dimension> by;
  std::int32_t first_day = 0, last_day = 0;  // of the window; the last is the day before `now`'s
  std::vector<Stratum> strata;               // most device-hours first
  std::vector<Series> series;                // by stratum
  std::size_t strata_left_out = 0;           // over strata_max
  std::size_t series_left_out = 0;           // over series_max or categories_max

  // "family=dlrm,hardware=h100,size=8-63"
  [[nodiscard]] std::string stratum_key(std::size_t stratum) const;
};

[[nodiscard]] SeriesSet build_series(std::span<const fleet::AttemptFacts> facts,
                                     const SeriesOptions& options, std::int64_t now_ns);

// Observations of one day by themselves, in logarithms: what build_series makes of them.
struct DayValue {
  std::int32_t day = 0;
  float value = 0;
};
// Cells with n and value, and the spread; `values` is reordered.
[[nodiscard]] std::vector<Cell> day_means(std::vector<DayValue>& values, double& spread);

}  // namespace headway::regress
