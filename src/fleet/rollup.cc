#include "fleet/rollup.h"

#include <algorithm>

#include "fleet/poisson.h"
#include "fleet/scan.h"
#include "fleet/series_index.h"

namespace headway::fleet {
namespace {

using timeline::Bucket;
using timeline::kBuckets;

// What a job, or a whole group, has on the chosen days.
struct Part {
  std::array<Int128, kBuckets> device_ns{};
  Int128 wall_device_ns = 0, failure_device_ns = 0, wall_ns = 0, queued_ns = 0;
  std::uint64_t saves = 0, attempts = 0, running = 0;

  void add(const Part& other) {
    for (std::size_t b = 0; b < kBuckets; ++b) device_ns[b] += other.device_ns[b];
    wall_device_ns += other.wall_device_ns;
    failure_device_ns += other.failure_device_ns;
    wall_ns += other.wall_ns;
    queued_ns += other.queued_ns;
    saves += other.saves;
    attempts += other.attempts;
    running += other.running;
  }
  [[nodiscard]] double effective() const {
    return static_cast<double>(device_ns[timeline::index(Bucket::effective)]);
  }
};

// The job at hand in one group: nanoseconds while its attempts have the same number of devices, as
// they nearly always do. They go on to the group, times devices, when that changes or the job ends.
struct Own {
  std::array<std::int64_t, kBuckets> ns{};
  std::uint32_t mask = 0;  // of ns that are not 0
  std::uint32_t devices = 0;
  std::int64_t wall_ns = 0, failure_ns = 0;
  Int128 queued_ns = 0;
  std::uint64_t saves = 0;
  std::uint32_t attempts = 0, running = 0;
  bool any = false;
  // Device time so far, as what the doubt is reckoned from; parts only where jobs weigh the same.
  double wall = 0, effective = 0, failure = 0;
  std::array<double, kBuckets> parts{};
  std::uint32_t parts_mask = 0;  // of parts that may not be 0
  // Slices of garbage can be years each: so much fits in beside one more of them.
  static constexpr std::int64_t wall_ns_max = std::int64_t{1} << 61;
};

struct Sum {
  Part part;
  std::uint64_t jobs = 0, jobs_with_wall = 0;
  std::uint64_t failures = 0, user_errors = 0, preemptions = 0;
  Int128 unsaved_device_ns = 0;
  CacheSum cache;
  std::array<double, kBuckets> shares{};  // weighted by job: summed over jobs
};

// One job in one group: what the doubt of shares by device is reckoned from. Jobs that weigh the
// same are added up at once.
struct Drawn {
  std::uint32_t group;
  bool whole;  // all of the job: it stands for it in the total, too
  double wall, effective, failure;
};

struct Means {
  MeanShareDoubt effective, failure, idle;

  void add(double wall, double effective_here, double failure_here) {
    effective.add(effective_here / wall);
    failure.add(failure_here / wall);
    idle.add((wall - effective_here - failure_here) / wall);
  }
};

struct Waits {
  std::vector<std::uint32_t> groups;
  std::vector<Lasted> lasted;
};

constexpr std::int32_t kEver = 1 << 20;  // days

// How many combinations of dimensions there is room for: with days, each has all of them.
std::uint32_t series_max(const By& by, const Days& days) {
  return by.day ? std::max(1u, rollup_groups_max / std::max(1u, days.count())) : rollup_groups_max;
}

class Gathering {
 public:
  Gathering(const Snapshot& snapshot, const Selection& selection, const By& by)
      : filter_(snapshot, selection),
        weight_(selection.weight),
        by_day_(by.day),
        days_(days_of(snapshot, filter_, rollup_groups_max)),
        days_more_(days_of(snapshot, filter_, kEver).count() - days_.count()),
        series_(snapshot, filter_, by.dimensions, series_max(by, days_)),
        groups_(series_.size() * (by.day ? days_.count() : 1)),
        sums_(groups_ + 2),
        own_(groups_ + 2),
        means_(weight_ == Weight::job ? groups_ + 2 : 0) {
    if (weight_ == Weight::device) drawn_.reserve(snapshot.attempts());
    starts_.groups.reserve(snapshot.attempts());
    starts_.lasted.reserve(snapshot.attempts());
    each_job(snapshot, filter_,
             [&](const Chunk& chunk, const Chunk::Job& job) { take(chunk, job); });
    add_total();
  }
  // Groups are numbered from 0, all days of one series after the other; the rest is groups(), all
  // together groups() + 1.
  [[nodiscard]] std::uint32_t groups() const { return groups_; }
  [[nodiscard]] std::uint64_t more() const { return series_.more() + (by_day_ ? days_more_ : 0); }
  [[nodiscard]] std::uint32_t series_of(std::uint32_t group) const {
    return by_day_ ? group / days_.count() : group;
  }
  [[nodiscard]] std::vector<std::string> key_of(const Snapshot& snapshot,
                                                std::uint32_t group) const {
    std::vector<std::string> key = series_.values(snapshot, series_of(group));
    if (by_day_) {
      key.push_back(day_text(days_.from + static_cast<std::int32_t>(group % days_.count())));
    }
    return key;
  }
  [[nodiscard]] std::vector<RollupGroup> finish() const;

 private:
  void take(const Chunk& chunk, const Chunk::Job& job);
  void take_attempt(const Chunk& chunk, std::uint32_t at);
  void take_failure(const EncodedAttempt::Failed& failure, std::uint32_t at, const Chunk& chunk);
  void settle(Own& own, Sum& sum);
  void end_job();
  [[nodiscard]] std::uint32_t group_of(const Chunk& chunk, std::uint32_t at,
                                       std::int32_t day) const {
    const std::uint32_t series = series_.of(chunk, at);
    if (!by_day_) return series;
    if (series == series_.size() || !days_.has(day)) return groups_;
    return series * days_.count() + static_cast<std::uint32_t>(day - days_.from);
  }
  Own& own(std::uint32_t group, std::uint32_t devices) {
    Own& each = own_[group];
    if (!each.any) {
      each.any = true;
      each.devices = devices;
      touched_.push_back(group);
    } else if (each.devices != devices || each.wall_ns > Own::wall_ns_max) {
      settle(each, sums_[group]);
      each.devices = devices;
    }
    return each;
  }
  void add_total();
  void finish_shares(std::vector<RollupGroup>& out) const;
  void finish_waits(const Waits& waits, std::optional<Durations> RollupGroup::* field,
                    std::vector<RollupGroup>& out) const;

  Filter filter_;
  Weight weight_;
  bool by_day_;
  Days days_;
  std::uint32_t days_more_;
  SeriesIndex series_;
  std::uint32_t groups_;
  std::vector<Sum> sums_;
  std::vector<Own> own_;
  std::vector<std::uint32_t> touched_;
  std::array<double, kBuckets> job_parts_{};  // of all its groups; 0 between two jobs
  std::uint64_t attempts_ = 0, running_ = 0;
  std::vector<Drawn> drawn_;
  std::vector<Means> means_;
  Waits starts_, recoveries_;
};

void Gathering::take(const Chunk& chunk, const Chunk::Job& job) {
  for (std::uint32_t at = job.first; at < job.first + job.count; ++at) {
    if (filter_.has_attempt(chunk, at)) take_attempt(chunk, at);
  }
  if (!touched_.empty()) end_job();
  each_wait(chunk, job, [&](const Wait& wait) {
    const std::int32_t day = day_of(wait.from_ns);
    if (!filter_.has_day(day) || !filter_.has_attempt(chunk, wait.at)) return;
    Waits& waits = wait.recovery ? recoveries_ : starts_;
    waits.groups.push_back(group_of(chunk, wait.at, day));
    waits.lasted.push_back({wait.length_ns, job.id, wait.over});
  });
}

void Gathering::take_attempt(const Chunk& chunk, std::uint32_t at) {
  const std::uint32_t devices = chunk.devices[at];
  std::uint32_t counted = Chunk::kNone;  // the group that the attempt is counted in already
  for (std::uint32_t i = chunk.first_slice[at]; i < chunk.first_slice[at + 1]; ++i) {
    if (!filter_.has_day(chunk.day[i])) continue;
    const std::uint32_t group = group_of(chunk, at, chunk.day[i]);
    Own& each = own(group, devices);
    const Packed packed = chunk.slice_buckets(i);
    packed.each([&](std::size_t bucket, std::int64_t ns) { each.ns[bucket] += ns; });
    each.mask |= packed.mask;
    each.wall_ns += chunk.wall_ns[i];
    each.failure_ns += chunk.failure_ns[i];
    each.queued_ns += chunk.queued_ns[i];
    each.saves += chunk.saves[i];
    if (counted != group) {
      counted = group;
      ++each.attempts;
      each.running += chunk.ending[at] == Ending::running ? 1 : 0;
    }
  }
  if (counted != Chunk::kNone) {
    ++attempts_;
    running_ += chunk.ending[at] == Ending::running ? 1 : 0;
  }
  if (const std::uint32_t row = chunk.failure[at]; row != Chunk::kNone) {
    take_failure(chunk.failures[row], at, chunk);
  }
  if (const std::int32_t begun = day_of(chunk.begin_ns[at]); filter_.has_day(begun)) {
    sums_[group_of(chunk, at, begun)].cache.add(chunk, at);
  }
}

void Gathering::take_failure(const EncodedAttempt::Failed& failure, std::uint32_t at,
                             const Chunk& chunk) {
  const std::int32_t day = day_of(failure.t_ns);
  if (!filter_.has_day(day)) return;
  Sum& sum = sums_[group_of(chunk, at, day)];
  if (failure.origin == Origin::user) {
    ++sum.user_errors;
  } else if (failure.origin == Origin::preemption) {
    ++sum.preemptions;
  } else {
    ++sum.failures;
  }
  sum.unsaved_device_ns += Int128{failure.unsaved_ns} * chunk.devices[at];
}

// f(bucket) for each bit.
template <typename F>
void each_bucket(std::uint32_t mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(static_cast<std::size_t>(std::countr_zero(mask)));
}

// What the job has had so far with one number of devices goes to the group.
void Gathering::settle(Own& own, Sum& sum) {
  const std::int64_t devices = own.devices;
  each_bucket(own.mask,
              [&](std::size_t b) { sum.part.device_ns[b] += Int128{own.ns[b]} * devices; });
  sum.part.wall_device_ns += Int128{own.wall_ns} * devices;
  sum.part.failure_device_ns += Int128{own.failure_ns} * devices;
  sum.part.wall_ns += own.wall_ns;
  sum.part.queued_ns += own.queued_ns;
  sum.part.saves += own.saves;
  sum.part.attempts += own.attempts;
  sum.part.running += own.running;
  const auto weight = static_cast<double>(devices);
  own.wall += weight * static_cast<double>(own.wall_ns);
  own.failure += weight * static_cast<double>(own.failure_ns);
  own.effective += weight * static_cast<double>(own.ns[timeline::index(Bucket::effective)]);
  each_bucket(own.mask, [&](std::size_t b) {
    if (weight_ == Weight::job) own.parts[b] += weight * static_cast<double>(own.ns[b]);
    own.ns[b] = 0;
  });
  own.parts_mask |= own.mask;
  own.mask = 0;
  own.wall_ns = own.failure_ns = 0;
  own.queued_ns = 0;
  own.saves = own.attempts = own.running = 0;
}

void Gathering::end_job() {
  Sum& total = sums_[groups_ + 1];
  double wall = 0, effective = 0, failure = 0;
  std::uint32_t mask = 0;
  const bool whole = touched_.size() == 1;
  for (const std::uint32_t group : touched_) {
    Own& own = own_[group];
    Sum& sum = sums_[group];
    settle(own, sum);
    ++sum.jobs;
    if (own.wall > 0) {
      ++sum.jobs_with_wall;
      wall += own.wall;
      effective += own.effective;
      failure += own.failure;
      if (weight_ == Weight::device) {
        drawn_.push_back({group, whole, own.wall, own.effective, own.failure});
      } else {
        means_[group].add(own.wall, own.effective, own.failure);
        mask |= own.parts_mask;
        each_bucket(own.parts_mask, [&](std::size_t b) {
          sum.shares[b] += own.parts[b] / own.wall;
          job_parts_[b] += own.parts[b];
          own.parts[b] = 0;
        });
      }
    }
    own.wall = own.effective = own.failure = 0;
    own.parts_mask = 0;
    own.any = false;
  }
  touched_.clear();
  ++total.jobs;
  if (wall <= 0) return;
  ++total.jobs_with_wall;
  if (weight_ == Weight::device) {
    if (!whole) drawn_.push_back({groups_ + 1, false, wall, effective, failure});
    return;
  }
  means_[groups_ + 1].add(wall, effective, failure);
  each_bucket(mask, [&](std::size_t b) {
    total.shares[b] += job_parts_[b] / wall;
    job_parts_[b] = 0;
  });
}

// What was counted in groups only; integers, so it makes no difference when.
void Gathering::add_total() {
  Sum& total = sums_[groups_ + 1];
  for (std::uint32_t i = 0; i <= groups_; ++i) {
    const Sum& sum = sums_[i];
    total.part.add(sum.part);
    total.failures += sum.failures;
    total.user_errors += sum.user_errors;
    total.preemptions += sum.preemptions;
    total.unsaved_device_ns += sum.unsaved_device_ns;
    total.cache.add(sum.cache);
  }
  total.part.attempts = attempts_;  // one that is in several groups is still one
  total.part.running = running_;
}

void Gathering::finish_shares(std::vector<RollupGroup>& out) const {
  const auto put = [](RollupGroup& group, const Doubt& effective, const Doubt& failure,
                      const Doubt& idle) {
    group.ett_pct = scaled(effective, 100);
    group.failure_pct = scaled(failure, 100);
    group.idleness_pct = scaled(idle, 100);
  };
  for (std::size_t i = 0; i < means_.size(); ++i) {
    put(out[i], means_[i].effective.doubt(), means_[i].failure.doubt(), means_[i].idle.doubt());
  }
  if (weight_ == Weight::job) return;
  std::vector<RatioDoubt> effective, failure, idle;
  std::vector<double> walls;
  for (const Sum& sum : sums_) {
    const auto wall = static_cast<double>(sum.part.wall_device_ns);
    walls.push_back(wall);
    const auto failed = static_cast<double>(sum.part.failure_device_ns);
    effective.emplace_back(sum.part.effective(), wall);
    failure.emplace_back(failed, wall);
    idle.emplace_back(wall - sum.part.effective() - failed, wall);
  }
  const auto add = [&](const Drawn& each, std::uint32_t group) {
    const double waited = each.wall - each.effective - each.failure;
    const double rest_inverse = 1 / (walls[group] - each.wall);
    effective[group].add(each.effective, each.wall, rest_inverse);
    failure[group].add(each.failure, each.wall, rest_inverse);
    idle[group].add(waited, each.wall, rest_inverse);
  };
  for (const Drawn& each : drawn_) {
    add(each, each.group);
    if (each.whole) add(each, groups_ + 1);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    put(out[i], effective[i].doubt(), failure[i].doubt(), idle[i].doubt());
  }
}

void Gathering::finish_waits(const Waits& waits, std::optional<Durations> RollupGroup::* field,
                             std::vector<RollupGroup>& out) const {
  SurvivalEstimator estimator;
  out[groups_ + 1].*field = estimator.durations(waits.lasted);
  if (!by_day_ && series_.by().empty()) return;
  // Group by group, each in the order of jobs.
  std::vector<std::size_t> ends(sums_.size() + 1, 0);
  for (const std::uint32_t group : waits.groups) ++ends[group + 1];
  for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
  std::vector<std::size_t> next(ends.begin(), ends.end() - 1);
  std::vector<Lasted> sorted(waits.lasted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    sorted[next[waits.groups[i]]++] = waits.lasted[i];
  }
  for (std::uint32_t i = 0; i < groups_; ++i) {
    out[i].*field = estimator.durations(std::span(sorted).subspan(ends[i], ends[i + 1] - ends[i]));
  }
}

std::vector<RollupGroup> Gathering::finish() const {
  std::vector<RollupGroup> out(sums_.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Sum& sum = sums_[i];
    RollupGroup& group = out[i];
    group.jobs = sum.jobs;
    group.attempts = sum.part.attempts;
    group.running = sum.part.running;
    group.device_hours = device_hours(sum.part.wall_device_ns);
    group.wall_ns = sum.part.wall_ns;
    group.queued_ns = sum.part.queued_ns;
    group.failures = sum.failures;
    group.user_errors = sum.user_errors;
    group.preemptions = sum.preemptions;
    group.failures_per_1000_device_hours = poisson_rate(sum.failures, group.device_hours / 1000);
    group.unsaved_device_hours = device_hours(sum.unsaved_device_ns);
    group.saves = sum.part.saves;
    group.cache = sum.cache;
    group.device_ns = sum.part.device_ns;
    const auto jobs = static_cast<double>(sum.jobs_with_wall);
    for (std::size_t b = 0; b < kBuckets; ++b) {
      if (weight_ == Weight::device) {
        group.buckets[b] = device_hours(sum.part.device_ns[b]);
      } else {
        group.buckets[b] = jobs > 0 ? 100 * sum.shares[b] / jobs : 0;
      }
    }
    if (jobs > 0) {
      const double blocked = group.buckets[timeline::index(Bucket::wasted_checkpoint_blocked)];
      group.checkpoint_blocked_pct =
          weight_ == Weight::job ? blocked : 100 * blocked / group.device_hours;
    }
  }
  finish_shares(out);
  finish_waits(starts_, &RollupGroup::time_to_start, out);
  finish_waits(recoveries_, &RollupGroup::time_to_recover, out);
  return out;
}

struct Shown {
  std::uint32_t series;
  RollupGroup* group;
};

}  // namespace

Rollup roll_up(const Snapshot& snapshot, const Selection& selection, const By& by) {
  const Gathering gathering(snapshot, selection, by);
  std::vector<RollupGroup> all = gathering.finish();
  const std::uint32_t groups = gathering.groups();
  Rollup out;
  out.total = std::move(all[groups + 1]);
  std::vector<Shown> shown;
  std::vector<Int128> series_ns(groups);
  const bool grouped = by.day || !by.dimensions.empty();
  for (std::uint32_t i = 0; grouped && i < groups; ++i) {
    RollupGroup& group = all[i];
    if (group.attempts == 0 && !group.time_to_start && !group.time_to_recover &&
        group.failures + group.user_errors + group.preemptions == 0) {
      continue;
    }
    group.key = gathering.key_of(snapshot, i);
    const std::uint32_t series = gathering.series_of(i);
    for (const Int128 each : group.device_ns) series_ns[series] += each;
    shown.push_back({series, &group});
  }
  std::ranges::sort(shown, [&](const Shown& a, const Shown& b) {
    if (a.series == b.series) return a.group < b.group;  // by day
    const Int128 of_a = series_ns[a.series], of_b = series_ns[b.series];
    return of_a != of_b ? of_a > of_b : a.group->key < b.group->key;
  });
  for (const Shown& each : shown) out.groups.push_back(std::move(*each.group));
  out.more = gathering.more();
  return out;
}

}  // namespace headway::fleet
