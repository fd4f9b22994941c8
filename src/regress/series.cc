#include "regress/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "base/check.h"
#include "regress/observe.h"

namespace headway::regress {
namespace {

using fleet::AttemptFacts;
using timeline::Bucket;
using timeline::kBuckets;

// One component of one stratum, while facts are being read.
struct Collected {
  std::vector<DayValue> values;
  std::vector<double> device_s, hits;  // by day of the window
};

struct Counts {
  std::vector<double> events, device_s;  // by day of the window
};

// A job that starts several times on a day does so with the same caches, on the same hosts:
// together these starts say what one says.
struct JobDay {
  std::uint64_t job = 0;
  std::int32_t day = 0;
  bool recovery = false;
  bool operator==(const JobDay&) const = default;
};
struct JobDayHash {
  std::size_t operator()(const JobDay& key) const {
    return key.job ^
           (static_cast<std::uint64_t>(key.day) * 2 + (key.recovery ? 1 : 0)) * 0x9E3779B97F4A7C15u;
  }
};
std::optional<JobDay> job_day(const AttemptFacts& facts) {
  if (facts.job == 0 || !facts.start) return std::nullopt;
  return JobDay{facts.job, fleet::day_of(facts.start->trained_ns), facts.start->recovery};
}

constexpr std::size_t kLogNormalKinds = 4;  // start, recover, loop, end
static_assert(static_cast<std::size_t>(Kind::end) + 1 == kLogNormalKinds);

class StratumBuilder {
 public:
  explicit StratumBuilder(std::int32_t first_day, std::int32_t days)
      : first_day_(first_day), days_(static_cast<std::size_t>(days)) {
    hours_.resize(days_);
    starts_[0].resize(days_);
    starts_[1].resize(days_);
  }

  // Of all attempts, before the first is added.
  void expect(const AttemptFacts& facts) {
    if (const auto key = job_day(facts)) ++together_[*key].starts;
  }

  void add(const AttemptFacts& facts, std::span<const Observation> observations, bool user_errors) {
    for (const fleet::Slice& slice : facts.slices) {
      if (const auto day = place(slice.day)) {
        hours_[*day] += static_cast<double>(slice.sums.total()) / 3.6e12 * facts.devices;
      }
    }
    const auto key = job_day(facts);
    Together* together = key ? &together_.at(*key) : nullptr;
    if (together != nullptr && together->starts == 1) together = nullptr;
    const double share = together != nullptr ? 1.0 / together->starts : 1;
    if (facts.start) {
      const auto day = place(fleet::day_of(facts.start->trained_ns));
      if (day) starts_[facts.start->recovery ? 1 : 0][*day] += share;
    }
    for (const Observation& each : observations) {
      const auto day = place(each.day);
      if (!day) continue;
      auto& slot = collected_[static_cast<std::size_t>(each.kind)][index(each.bucket)];
      if (!slot) {
        slot = std::make_unique<Collected>(
            Collected{{}, std::vector<double>(days_), std::vector<double>(days_)});
      }
      slot->device_s[*day] += each.device_s;
      const bool of_start = each.kind == Kind::start || each.kind == Kind::recover;
      slot->hits[*day] += of_start ? share : 1;
      if (together != nullptr && of_start) {
        auto& [sum, count] = together->logs[index(each.bucket)];
        sum += std::log(each.value);
        ++count;
      } else {
        slot->values.push_back({each.day, static_cast<float>(std::log(each.value))});
      }
    }
    if (const auto category = failure_category(facts, user_errors)) add_failure(facts, *category);
  }

  void finish(std::size_t stratum, SeriesSet& out) {
    add_together();
    for (std::size_t kind = 0; kind < kLogNormalKinds; ++kind) {
      for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
        if (!collected_[kind][bucket]) continue;
        Series series;
        series.component = {static_cast<Kind>(kind), static_cast<Bucket>(bucket), {}};
        Collected& from = *collected_[kind][bucket];
        series.cells = day_means(from.values, series.spread);
        for (Cell& cell : series.cells) cell.device_s = from.device_s[*place(cell.day)];
        push(stratum, std::move(series), out);
      }
    }
    finish_often(Kind::start_often, Kind::start, starts_[0], stratum, out);
    finish_often(Kind::recover_often, Kind::recover, starts_[1], stratum, out);
    for (auto& [category, counts] : failures_) {
      Series series;
      series.component = {Kind::failures, Bucket::scheduling, category};
      series.watched = category != preemption_category;
      for (std::size_t day = 0; day < days_; ++day) {
        if (hours_[day] <= 0) continue;
        series.cells.push_back(
            {day_at(day), hours_[day], counts.events[day], counts.device_s[day]});
      }
      push(stratum, std::move(series), out);
    }
    out.series_left_out += categories_left_out_;
  }

 private:
  [[nodiscard]] std::optional<std::size_t> place(std::int32_t day) const {
    const std::int64_t at = std::int64_t{day} - first_day_;
    if (at < 0 || at >= static_cast<std::int64_t>(days_)) return std::nullopt;
    return static_cast<std::size_t>(at);
  }
  [[nodiscard]] std::int32_t day_at(std::size_t place) const {
    return first_day_ + static_cast<std::int32_t>(place);
  }

  void add_together() {
    for (const auto& [key, together] : together_) {
      for (const auto& [bucket, of] : together.logs) {
        const Kind kind = key.recovery ? Kind::recover : Kind::start;
        collected_[static_cast<std::size_t>(kind)][bucket]->values.push_back(
            {key.day, static_cast<float>(of.first / of.second)});
      }
    }
  }

  void add_failure(const AttemptFacts& facts, std::string_view category) {
    const auto day = place(fleet::day_of(facts.failure->t_ns));
    if (!day) return;
    auto found = failures_.find(category);
    if (found == failures_.end()) {
      if (failures_.size() == SeriesOptions::categories_max) {
        ++categories_left_out_;
        return;
      }
      Counts none{std::vector<double>(days_), std::vector<double>(days_)};
      found = failures_.emplace(std::string(category), std::move(none)).first;
    }
    found->second.events[*day] += 1;
    found->second.device_s[*day] +=
        static_cast<double>(facts.failure->lost_ns) / 1e9 * facts.devices;
  }

  // How often a stage occurs at all. One that always or never does has nothing to tell.
  void finish_often(Kind often, Kind level, const std::vector<double>& starts, std::size_t stratum,
                    SeriesSet& out) {
    const double all = std::accumulate(starts.begin(), starts.end(), 0.0);
    for (const Bucket bucket : start_buckets()) {
      const auto& from = collected_[static_cast<std::size_t>(level)][index(bucket)];
      if (!from) continue;
      const std::vector<double>& hits = from->hits;
      if (all - std::accumulate(hits.begin(), hits.end(), 0.0) < 1e-6) continue;
      Series series;
      series.component = {often, bucket, {}};
      for (std::size_t day = 0; day < days_; ++day) {
        if (starts[day] <= 0) continue;
        series.cells.push_back({day_at(day), starts[day], hits[day], from->device_s[day]});
      }
      push(stratum, std::move(series), out);
    }
  }

  static void push(std::size_t stratum, Series series, SeriesSet& out) {
    series.stratum = stratum;
    series.device_hours = out.strata[stratum].device_hours;
    if (!series.cells.empty()) out.series.push_back(std::move(series));
  }

  struct Together {
    std::uint32_t starts = 0;
    std::map<std::size_t, std::pair<double, std::uint32_t>> logs;  // bucket → sum, how many
  };

  std::int32_t first_day_;
  std::size_t days_;
  std::unordered_map<JobDay, Together, JobDayHash> together_;
  std::array<std::array<std::unique_ptr<Collected>, kBuckets>, kLogNormalKinds> collected_;
  std::vector<double> hours_;
  std::array<std::vector<double>, 2> starts_;  // starts, recoveries
  std::map<std::string, Counts, std::less<>> failures_;
  std::size_t categories_left_out_ = 0;
};

std::string joined(const AttemptFacts& facts, std::span<const fleet::Dimension> by) {
  std::string key;
  for (const fleet::Dimension dimension : by) {
    key += facts.dimensions[static_cast<std::size_t>(dimension)];
    key += '\0';
  }
  return key;
}

double device_hours(const AttemptFacts& facts, std::int32_t first_day, std::int32_t last_day) {
  double ns = 0;
  for (const fleet::Slice& slice : facts.slices) {
    if (slice.day >= first_day && slice.day <= last_day) {
      ns += static_cast<double>(slice.sums.total());
    }
  }
  return ns / 3.6e12 * facts.devices;
}

bool touches(const AttemptFacts& facts, std::int32_t first_day, std::int32_t last_day) {
  return !facts.slices.empty() && facts.slices.back().day >= first_day &&
         facts.slices.front().day <= last_day;
}

void find_strata(std::span<const AttemptFacts> facts, const SeriesOptions& options,
                 SeriesSet& out) {
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (!touches(facts[i], out.first_day, out.last_day)) continue;
    const auto [found, added] = known.try_emplace(joined(facts[i], out.by), out.strata.size());
    if (added) {
      Stratum& stratum = out.strata.emplace_back();
      for (const fleet::Dimension dimension : out.by) {
        stratum.values.push_back(facts[i].dimensions[static_cast<std::size_t>(dimension)]);
      }
    }
    Stratum& stratum = out.strata[found->second];
    stratum.device_hours += device_hours(facts[i], out.first_day, out.last_day);
    stratum.attempts.push_back(static_cast<std::uint32_t>(i));
  }
  // By name where the hours are the same: the order of the facts does not matter.
  std::ranges::sort(out.strata, [](const Stratum& a, const Stratum& b) {
    return a.device_hours != b.device_hours ? a.device_hours > b.device_hours : a.values < b.values;
  });
  if (out.strata.size() > options.strata_max) {
    out.strata_left_out = out.strata.size() - options.strata_max;
    out.strata.resize(options.strata_max);
  }
}

}  // namespace

std::string SeriesSet::stratum_key(std::size_t stratum) const {
  std::string out;
  for (std::size_t i = 0; i < by.size(); ++i) {
    out += fmt::format("{}{}={}", i == 0 ? "" : ",", fleet::dimension_name(by[i]),
                       strata[stratum].values[i]);
  }
  return out;
}

SeriesSet build_series(std::span<const AttemptFacts> facts, const SeriesOptions& options,
                       std::int64_t now_ns) {
  HW_CHECK(options.days > 0 && options.days <= SeriesOptions::days_max);
  HW_CHECK(facts.size() < UINT32_MAX);
  SeriesSet out;
  out.by = options.by;
  // A day that has just begun is of other hours and other jobs than a whole one.
  out.last_day = fleet::day_of(now_ns) - 1;
  out.first_day = out.last_day - options.days + 1;
  find_strata(facts, options, out);
  std::vector<Observation> observations;
  for (std::size_t i = 0; i < out.strata.size(); ++i) {
    StratumBuilder builder(out.first_day, options.days);
    for (const std::uint32_t attempt : out.strata[i].attempts) builder.expect(facts[attempt]);
    for (const std::uint32_t attempt : out.strata[i].attempts) {
      observations.clear();
      observe(facts[attempt], observations);
      builder.add(facts[attempt], observations, options.user_errors);
    }
    builder.finish(i, out);
  }
  if (out.series.size() > options.series_max) {
    out.series_left_out += out.series.size() - options.series_max;
    out.series.resize(options.series_max);
  }
  return out;
}

}  // namespace headway::regress
