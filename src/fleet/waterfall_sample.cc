#include "fleet/waterfall_sample.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/check.h"
#include "fleet/survival.h"

namespace headway::fleet {
namespace {

using timeline::Bucket;
using timeline::kBuckets;

std::uint64_t stratum_key(const Chunk& chunk, std::uint32_t at) {
  const auto id = [&](Dimension dimension) {
    return std::uint64_t{chunk.dimensions[static_cast<std::size_t>(dimension)][at]};
  };
  return id(Dimension::family) << 32 | id(Dimension::hardware) << 16 | id(Dimension::size);
}

class Strata {
 public:
  explicit Strata(bool wanted) : wanted_(wanted) {}
  std::uint32_t of(const Chunk& chunk, std::uint32_t at) {
    if (!wanted_) return 0;
    const std::uint64_t key = stratum_key(chunk, at);
    if (key == last_key_) return last_;
    const auto next = static_cast<std::uint32_t>(ids_.size());
    last_ = ids_.try_emplace(key, next).first->second;
    last_key_ = key;
    return last_;
  }
  [[nodiscard]] std::size_t size() const { return ids_.size(); }

 private:
  bool wanted_;
  std::unordered_map<std::uint64_t, std::uint32_t> ids_;
  std::uint64_t last_key_ = ~std::uint64_t{0};
  std::uint32_t last_ = 0;
};

void add_starts(const Snapshot& snapshot, const Filter& filter, std::uint8_t side, Strata& strata,
                std::vector<Observation>& out) {
  const std::size_t begin = out.size();
  std::vector<Lasted> lasted;
  each_job(snapshot, filter, [&](const Chunk& chunk, const Chunk::Job& job) {
    each_wait(chunk, job, [&](const Wait& wait) {
      if (wait.recovery || !filter.has_day(day_of(wait.from_ns))) return;
      if (!filter.has_attempt(chunk, wait.at)) return;
      out.push_back({&chunk, wait.at, wait.first, job.id, strata.of(chunk, wait.at), side, 0,
                     wait.over, 0, static_cast<double>(wait.length_ns) / 1e9});
      lasted.push_back({wait.length_ns, job.id, wait.over});
    });
  });
  // With nothing over yet nothing is known, and nothing weighs.
  if (std::ranges::none_of(lasted, &Lasted::over)) return;
  const std::vector<double> weights = SurvivalEstimator().weights(lasted);
  for (std::size_t i = 0; i < weights.size(); ++i) out[begin + i].weight = weights[i];
}

void add_attempts(const Snapshot& snapshot, const Filter& filter, Weight weight, std::uint8_t side,
                  Strata& strata, std::vector<Observation>& out) {
  each_job(snapshot, filter, [&](const Chunk& chunk, const Chunk::Job& job) {
    const std::size_t begin = out.size();
    double job_wall = 0;
    for (std::uint32_t at = job.first; at < job.first + job.count; ++at) {
      if (!filter.has_attempt(chunk, at)) continue;
      double wall_ns = 0, effective_ns = 0;
      for (std::uint32_t i = chunk.first_slice[at]; i < chunk.first_slice[at + 1]; ++i) {
        if (!filter.has_day(chunk.day[i])) continue;
        wall_ns += static_cast<double>(chunk.wall_ns[i]);
        effective_ns += static_cast<double>(chunk.effective_ns[i]);
      }
      if (wall_ns <= 0) continue;
      const double device_hours = wall_ns * chunk.devices[at] / 3.6e12;
      job_wall += device_hours;
      out.push_back({&chunk, at, at, job.id, strata.of(chunk, at), side, 0, true, device_hours,
                     100 * effective_ns / wall_ns});
    }
    if (weight == Weight::device) return;
    for (std::size_t i = begin; i < out.size(); ++i) out[i].weight /= job_wall;
  });
}

std::uint64_t hash_of(std::string_view text) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// Few jobs are dealt out by name, so that groups are of one size; for many, chance does.
void deal(const Snapshot& snapshot, WaterfallSample& sample) {
  constexpr std::size_t dealt_max = 4096;
  std::vector<std::uint8_t> group(snapshot.jobs().size(), 0);
  std::vector<std::uint32_t> jobs;
  for (const Observation& each : sample.all) {
    if (group[each.job] == 0) jobs.push_back(each.job);
    group[each.job] = 1;
  }
  sample.groups = static_cast<std::uint32_t>(std::min(jobs.size(), WaterfallSample::groups_max));
  if (sample.groups == 0) return;
  if (jobs.size() <= dealt_max) {
    std::ranges::sort(jobs, {}, [&](std::uint32_t job) { return snapshot.jobs()[job]; });
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      group[jobs[i]] = static_cast<std::uint8_t>(i % sample.groups);
    }
  } else {
    for (const std::uint32_t job : jobs) {
      group[job] = static_cast<std::uint8_t>(hash_of(snapshot.jobs()[job]) % sample.groups);
    }
  }
  for (Observation& each : sample.all) each.group = group[each.job];
}

// The largest strata keep to themselves, the others become one.
void pool_small_strata(std::size_t strata, WaterfallSample& sample) {
  if (strata <= waterfall_strata_max) return;
  std::vector<std::pair<double, std::uint32_t>> weights(strata);
  std::array<double, 2> sums{};
  for (const Observation& each : sample.all) sums[each.side] += each.weight;
  for (const Observation& each : sample.all) {
    weights[each.stratum].first -= each.weight / sums[each.side];
  }
  for (std::uint32_t i = 0; i < strata; ++i) weights[i].second = i;
  std::ranges::sort(weights);
  std::vector<std::uint32_t> now(strata, waterfall_strata_max - 1);
  for (std::uint32_t i = 0; i + 1 < waterfall_strata_max; ++i) now[weights[i].second] = i;
  for (Observation& each : sample.all) each.stratum = now[each.stratum];
}

}  // namespace

WaterfallSample waterfall_sample(const Snapshot& snapshot, WaterfallMetric metric,
                                 const Selection& a, const Selection& b, bool stratified) {
  WaterfallSample sample{{}, 0, {}, {Filter(snapshot, a), Filter(snapshot, b)}};
  Strata strata(stratified);
  for (const std::uint8_t side : {std::uint8_t{0}, std::uint8_t{1}}) {
    if (metric == WaterfallMetric::time_to_start_s) {
      add_starts(snapshot, sample.filters[side], side, strata, sample.all);
    } else {
      add_attempts(snapshot, sample.filters[side], a.weight, side, strata, sample.all);
    }
  }
  for (const Observation& each : sample.all) sample.counts[each.side] += each.over ? 1 : 0;
  deal(snapshot, sample);
  pool_small_strata(strata.size(), sample);
  return sample;
}

void WaterfallSample::add_parts(const Observation& each, WaterfallMetric metric,
                                std::array<double, kParts>& to) const {
  if (metric == WaterfallMetric::ett_pct) return add_shares(each, to);
  if (!each.over) return add_open(each, to);
  const Chunk& chunk = *each.chunk;
  const std::uint32_t row = chunk.start[each.at];
  HW_CHECK(row != Chunk::kNone);
  const double unit = each.weight * 1e-9;
  chunk.start_buckets(row).each(
      [&](std::size_t b, std::int64_t ns) { to[b] += static_cast<double>(ns) * unit; });
  to[kBuckets] += static_cast<double>(chunk.outside_ns[row]) * unit;
}

// A start that is not over: what its attempts have had so far, but for the scheduling before it.
void WaterfallSample::add_open(const Observation& each, std::array<double, kParts>& to) const {
  const Chunk& chunk = *each.chunk;
  double sum_ns = 0;
  for (std::uint32_t at = each.first; at <= each.at; ++at) {
    for (std::uint32_t i = chunk.first_slice[at]; i < chunk.first_slice[at + 1]; ++i) {
      chunk.slice_buckets(i).each([&](std::size_t b, std::int64_t ns) {
        if (at == each.first && static_cast<Bucket>(b) == Bucket::scheduling) return;
        to[b] += static_cast<double>(ns) * 1e-9 * each.weight;
        sum_ns += static_cast<double>(ns);
      });
    }
  }
  to[kBuckets] += (each.value - sum_ns * 1e-9) * each.weight;
}

void WaterfallSample::add_shares(const Observation& each, std::array<double, kParts>& to) const {
  const Chunk& chunk = *each.chunk;
  const Filter& filter = filters[each.side];
  const std::uint32_t begin = chunk.first_slice[each.at], end = chunk.first_slice[each.at + 1];
  double wall_ns = 0;
  for (std::uint32_t i = begin; i < end; ++i) {
    if (filter.has_day(chunk.day[i])) wall_ns += static_cast<double>(chunk.wall_ns[i]);
  }
  const double unit = 100 * each.weight / wall_ns;
  for (std::uint32_t i = begin; i < end; ++i) {
    if (!filter.has_day(chunk.day[i])) continue;
    chunk.slice_buckets(i).each(
        [&](std::size_t b, std::int64_t ns) { to[b] += static_cast<double>(ns) * unit; });
  }
}

std::optional<double> Jackknife::half() const {
  if (groups_ < 2) return std::nullopt;
  const double n = groups_;
  return t_quantile(n - 1) * std::sqrt(squares_ * (n - 1) / n);
}

}  // namespace headway::fleet
