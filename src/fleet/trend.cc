#include "fleet/trend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "fleet/bucket_words.h"
#include "fleet/estimate.h"
#include "fleet/poisson.h"
#include "fleet/scan.h"
#include "fleet/series_index.h"
#include "fleet/survival.h"

namespace headway::fleet {
namespace {

using Kind = Metric::Kind;

constexpr std::array<std::string_view, 8> kMetricNames = {
    "ett_pct",         "idleness_pct",          "failure_pct",
    "time_to_start_s", "time_to_recover_s",     "failures_per_1000_device_hours",
    "unsaved_pct",     "checkpoint_blocked_pct"};
constexpr std::string_view kBucketPrefix = "bucket:";

bool is_share(Kind kind) {
  return kind != Kind::time_to_start_s && kind != Kind::time_to_recover_s &&
         kind != Kind::failures_per_1000_device_hours;
}

struct Cell {  // one series on one day
  Int128 device_ns = 0;
  double part = 0;  // of shares
  std::uint64_t failures = 0;
  bool seen = false;
};
struct Drawn {  // one job in a cell
  std::uint32_t cell;
  double part, wall;
};
struct Waited {
  std::uint32_t cell;
  Lasted lasted;
};

class TrendGathering {
 public:
  TrendGathering(const Snapshot& snapshot, const Selection& selection, const Metric& metric,
                 const std::vector<Dimension>& by)
      : filter_(snapshot, selection),
        weight_(selection.weight),
        metric_(metric),
        days_(days_of(snapshot, filter_, trend_days_max)),
        series_(snapshot, filter_, by, trend_series_max),
        cells_((series_.size() + 1) * days_.count()),
        own_(cells_.size()) {
    each_job(snapshot, filter_,
             [&](const Chunk& chunk, const Chunk::Job& job) { take(chunk, job); });
  }
  [[nodiscard]] Trend finish(const Snapshot& snapshot) const;

 private:
  struct Own {  // of the job at hand
    Int128 part_ns = 0, wall_ns = 0;
    bool any = false;
  };
  [[nodiscard]] std::uint32_t cell_of(const Chunk& chunk, std::uint32_t at,
                                      std::int32_t day) const {
    return series_.of(chunk, at) * days_.count() + static_cast<std::uint32_t>(day - days_.from);
  }
  [[nodiscard]] std::int64_t part_ns(const Chunk& chunk, std::uint32_t slice) const;
  Own& own(std::uint32_t cell) {
    Own& each = own_[cell];
    if (!each.any) {
      each.any = true;
      touched_.push_back(cell);
    }
    return each;
  }
  void take(const Chunk& chunk, const Chunk::Job& job);
  void take_slices(const Chunk& chunk, std::uint32_t at);
  void take_failure(const Chunk& chunk, std::uint32_t at);
  void end_job();
  [[nodiscard]] std::vector<std::uint32_t> shown() const;
  [[nodiscard]] std::vector<Doubt> shares() const;
  [[nodiscard]] std::vector<Doubt> waits() const;
  [[nodiscard]] std::vector<Doubt> rates() const;

  Filter filter_;
  Weight weight_;
  Metric metric_;
  Days days_;
  SeriesIndex series_;
  std::vector<Cell> cells_;
  std::vector<Own> own_;
  std::vector<std::uint32_t> touched_;
  std::vector<Drawn> drawn_;
  std::vector<Waited> waited_;
};

std::int64_t TrendGathering::part_ns(const Chunk& chunk, std::uint32_t slice) const {
  switch (metric_.kind) {
    case Kind::ett_pct:
      return chunk.effective_ns[slice];
    case Kind::failure_pct:
      return chunk.failure_ns[slice];
    case Kind::idleness_pct:
      return chunk.wall_ns[slice] - chunk.effective_ns[slice] - chunk.failure_ns[slice];
    case Kind::checkpoint_blocked_pct:
      return chunk.slice_buckets(slice)[timeline::Bucket::wasted_checkpoint_blocked];
    case Kind::bucket:
      return chunk.slice_buckets(slice)[metric_.bucket];
    default:
      return 0;
  }
}

void TrendGathering::take(const Chunk& chunk, const Chunk::Job& job) {
  for (std::uint32_t at = job.first; at < job.first + job.count; ++at) {
    if (!filter_.has_attempt(chunk, at)) continue;
    take_slices(chunk, at);
    if (chunk.failure[at] != Chunk::kNone) take_failure(chunk, at);
  }
  end_job();
  if (metric_.kind != Kind::time_to_start_s && metric_.kind != Kind::time_to_recover_s) return;
  each_wait(chunk, job, [&](const Wait& wait) {
    if (wait.recovery != (metric_.kind == Kind::time_to_recover_s)) return;
    const std::int32_t day = day_of(wait.from_ns);
    if (!days_.has(day) || !filter_.has_attempt(chunk, wait.at)) return;
    const std::uint32_t cell = cell_of(chunk, wait.at, day);
    cells_[cell].seen = true;
    waited_.push_back({cell, {wait.length_ns, job.id, wait.over}});
  });
}

void TrendGathering::take_slices(const Chunk& chunk, std::uint32_t at) {
  for (std::uint32_t i = chunk.first_slice[at]; i < chunk.first_slice[at + 1]; ++i) {
    if (!days_.has(chunk.day[i])) continue;
    Own& each = own(cell_of(chunk, at, chunk.day[i]));
    each.wall_ns += Int128{chunk.wall_ns[i]} * chunk.devices[at];
    each.part_ns += Int128{part_ns(chunk, i)} * chunk.devices[at];
  }
}

void TrendGathering::take_failure(const Chunk& chunk, std::uint32_t at) {
  const EncodedAttempt::Failed& failure = chunk.failures[chunk.failure[at]];
  const std::int32_t day = day_of(failure.t_ns);
  if (!days_.has(day)) return;
  const std::uint32_t cell = cell_of(chunk, at, day);
  if (metric_.kind == Kind::unsaved_pct) {
    own(cell).part_ns += Int128{failure.unsaved_ns} * chunk.devices[at];
  }
  if (failure.origin == Origin::infra || failure.origin == Origin::unknown) {
    ++cells_[cell].failures;
  }
}

void TrendGathering::end_job() {
  for (const std::uint32_t cell : touched_) {
    Own& each = own_[cell];
    cells_[cell].seen = true;
    cells_[cell].device_ns += each.wall_ns;
    cells_[cell].part += static_cast<double>(each.part_ns);
    if (is_share(metric_.kind)) {
      drawn_.push_back(
          {cell, static_cast<double>(each.part_ns), static_cast<double>(each.wall_ns)});
    }
    each = {};
  }
  touched_.clear();
}

std::vector<Doubt> TrendGathering::shares() const {
  std::vector<Doubt> out;
  if (weight_ == Weight::job) {
    std::vector<MeanShareDoubt> means(cells_.size());
    for (const Drawn& each : drawn_) {
      if (each.wall > 0) means[each.cell].add(std::min(1.0, each.part / each.wall));
    }
    for (const MeanShareDoubt& mean : means) out.push_back(scaled(mean.doubt(), 100));
    return out;
  }
  std::vector<RatioDoubt> ratios;
  for (const Cell& cell : cells_) {
    ratios.emplace_back(cell.part, static_cast<double>(cell.device_ns));
  }
  for (const Drawn& each : drawn_) ratios[each.cell].add(each.part, each.wall);
  for (const RatioDoubt& ratio : ratios) out.push_back(scaled(ratio.doubt(), 100));
  return out;
}

std::vector<Doubt> TrendGathering::waits() const {
  std::vector<std::vector<Lasted>> by_cell(cells_.size());
  for (const Waited& each : waited_) by_cell[each.cell].push_back(each.lasted);
  std::vector<Doubt> out;
  SurvivalEstimator estimator;
  for (const std::vector<Lasted>& each : by_cell) {
    const auto durations = estimator.durations(each);
    out.push_back(durations ? durations->mean_s : Doubt{});
  }
  return out;
}

std::vector<Doubt> TrendGathering::rates() const {
  std::vector<Doubt> out;
  for (const Cell& cell : cells_) {
    out.push_back(poisson_rate(cell.failures, device_hours(cell.device_ns) / 1000));
  }
  return out;
}

// Series that have anything, most device-hours first, the rest last.
std::vector<std::uint32_t> TrendGathering::shown() const {
  std::vector<Int128> device_ns(series_.size() + 1, 0);
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i <= series_.size(); ++i) {
    bool any = false;
    for (std::uint32_t day = 0; day < days_.count(); ++day) {
      const Cell& cell = cells_[i * days_.count() + day];
      device_ns[i] += cell.device_ns;
      any = any || cell.seen;
    }
    if (any) out.push_back(i);
  }
  std::ranges::stable_sort(out, [&](std::uint32_t a, std::uint32_t b) {
    if ((a == series_.size()) != (b == series_.size())) return b == series_.size();
    return device_ns[a] > device_ns[b];
  });
  return out;
}

Trend TrendGathering::finish(const Snapshot& snapshot) const {
  const std::vector<Doubt> doubts = is_share(metric_.kind) ? shares()
                                    : metric_.kind == Kind::failures_per_1000_device_hours
                                        ? rates()
                                        : waits();
  HW_CHECK(doubts.size() == cells_.size());
  Trend out;
  out.from_day = days_.from;
  for (const std::uint32_t i : shown()) {
    TrendSeries& each = out.series.emplace_back();
    each.key = i < series_.size() ? series_.values(snapshot, i) : std::vector<std::string>{"other"};
    for (std::uint32_t day = 0; day < days_.count(); ++day) {
      const std::uint32_t cell = i * days_.count() + day;
      each.value.push_back(doubts[cell].value);
      each.low.push_back(doubts[cell].low);
      each.high.push_back(doubts[cell].high);
      each.device_hours.push_back(device_hours(cells_[cell].device_ns));
    }
  }
  return out;
}

}  // namespace

std::optional<Metric> parse_metric(std::string_view name) {
  for (std::size_t i = 0; i < kMetricNames.size(); ++i) {
    if (kMetricNames[i] == name) return Metric{static_cast<Kind>(i)};
  }
  if (!name.starts_with(kBucketPrefix)) return std::nullopt;
  const auto bucket = bucket_of(name.substr(kBucketPrefix.size()));
  if (!bucket) return std::nullopt;
  return Metric{Kind::bucket, *bucket};
}

std::string metric_name(const Metric& metric) {
  if (metric.kind != Kind::bucket) {
    return std::string(kMetricNames[static_cast<std::size_t>(metric.kind)]);
  }
  return fmt::format("{}{}", kBucketPrefix, bucket_word(metric.bucket));
}

std::string_view metric_unit(const Metric& metric) {
  if (is_share(metric.kind)) return "%";
  return metric.kind == Kind::failures_per_1000_device_hours ? "1/1000 device-hours" : "s";
}

Trend trend(const Snapshot& snapshot, const Selection& selection, const Metric& metric,
            const std::vector<Dimension>& by) {
  return TrendGathering(snapshot, selection, metric, by).finish(snapshot);
}

}  // namespace headway::fleet
