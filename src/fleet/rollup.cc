#include "fleet/rollup.h"

#include <algorithm>

#include "base/check.h"
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
  std::uint32_t mask = 0;  // of device_ns that are not 0
  Int128 wall_device_ns = 0, failure_device_ns = 0, wall_ns = 0, queued_ns = 0;
  std::uint64_t saves = 0, attempts = 0, running = 0;
  bool any = false;

  void add(const Part& other) {
    for (std::uint32_t left = other.mask; left != 0; left &= left - 1) {
      const auto b = static_cast<std::size_t>(std::countr_zero(left));
      device_ns[b] += other.device_ns[b];
    }
    mask |= other.mask;
    wall_device_ns += other.wall_device_ns;
    failure_device_ns += other.failure_device_ns;
    wall_ns += other.wall_ns;
    queued_ns += other.queued_ns;
    saves += other.saves;
    attempts += other.attempts;
    running += other.running;
  }
  void clear() {
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
      device_ns[static_cast<std::size_t>(std::countr_zero(left))] = 0;
    }
    mask = 0;
    wall_device_ns = failure_device_ns = wall_ns = queued_ns = 0;
    saves = attempts = running = 0;
    any = false;
  }
  [[nodiscard]] double effective() const {
    return static_cast<double>(device_ns[timeline::index(Bucket::effective)]);
  }
};

struct Sum {
  Part part;
  std::uint64_t jobs = 0, jobs_with_wall = 0;
  std::uint64_t failures = 0, user_errors = 0, preemptions = 0;
  Int128 unsaved_device_ns = 0;
  std::array<double, kBuckets> shares{};  // weighted by job: summed over jobs
};

// One job in one group: what the doubt of shares is reckoned from.
struct Drawn {
  std::uint32_t group;
  double wall, effective, failure;
};

struct Waited {
  std::uint32_t group;
  Lasted lasted;
};

constexpr std::int32_t kEver = 1 << 20;  // days

class Gathering {
 public:
  Gathering(const Snapshot& snapshot, const Selection& selection, const By& by)
      : filter_(snapshot, selection),
        weight_(selection.weight),
        by_day_(by.day),
        days_(days_of(snapshot, filter_, rollup_groups_max)),
        days_more_(days_of(snapshot, filter_, kEver).count() - days_.count()),
        series_(snapshot, filter_, by.dimensions, rollup_groups_max),
        groups_(by.day ? days_.count() : series_.size()),
        sums_(groups_ + 2),
        own_(groups_ + 2) {
    HW_CHECK(!by.day || by.dimensions.empty());
    each_job(snapshot, filter_,
             [&](const Chunk& chunk, const Chunk::Job& job) { take(chunk, job); });
  }
  // Groups are numbered from 0; the rest is groups(), all together groups() + 1.
  [[nodiscard]] std::uint32_t groups() const { return groups_; }
  [[nodiscard]] const SeriesIndex& series() const { return series_; }
  [[nodiscard]] const Days& days() const { return days_; }
  [[nodiscard]] std::uint32_t days_more() const { return days_more_; }
  [[nodiscard]] std::vector<RollupGroup> finish() const;

 private:
  void take(const Chunk& chunk, const Chunk::Job& job);
  void take_attempt(const Chunk& chunk, std::uint32_t at);
  void take_failure(const EncodedAttempt::Failed& failure, std::uint32_t at, const Chunk& chunk);
  void end_job();
  void draw(std::uint32_t group, const Part& part);
  [[nodiscard]] std::uint32_t group_of(const Chunk& chunk, std::uint32_t at,
                                       std::int32_t day) const {
    if (!by_day_) return series_.of(chunk, at);
    return days_.has(day) ? static_cast<std::uint32_t>(day - days_.from) : groups_;
  }
  Part& own(std::uint32_t group) {
    Part& part = own_[group];
    if (!part.any) {
      part.any = true;
      touched_.push_back(group);
    }
    return part;
  }
  void finish_shares(std::vector<RollupGroup>& out) const;
  void finish_waits(const std::vector<Waited>& waits, std::optional<Durations> RollupGroup::* field,
                    std::vector<RollupGroup>& out) const;

  Filter filter_;
  Weight weight_;
  bool by_day_;
  Days days_;
  std::uint32_t days_more_;
  SeriesIndex series_;
  std::uint32_t groups_;
  std::vector<Sum> sums_;
  std::vector<Part> own_;  // of the job at hand
  std::vector<std::uint32_t> touched_;
  std::uint64_t job_attempts_ = 0, job_running_ = 0;
  std::vector<Drawn> drawn_;
  std::vector<Waited> starts_, recoveries_;
};

void Gathering::take(const Chunk& chunk, const Chunk::Job& job) {
  for (std::uint32_t at = job.first; at < job.first + job.count; ++at) {
    if (filter_.has_attempt(chunk, at)) take_attempt(chunk, at);
  }
  if (!touched_.empty()) end_job();
  each_wait(chunk, job, [&](const Wait& wait) {
    const std::int32_t day = day_of(wait.from_ns);
    if (!filter_.has_day(day) || !filter_.has_attempt(chunk, wait.at)) return;
    (wait.recovery ? recoveries_ : starts_)
        .push_back({group_of(chunk, wait.at, day), {wait.length_ns, job.id, wait.over}});
  });
}

void Gathering::take_attempt(const Chunk& chunk, std::uint32_t at) {
  const std::uint32_t devices = chunk.devices[at];
  std::uint32_t counted = Chunk::kNone;  // the group that the attempt is counted in already
  for (std::uint32_t i = chunk.first_slice[at]; i < chunk.first_slice[at + 1]; ++i) {
    if (!filter_.has_day(chunk.day[i])) continue;
    const std::uint32_t group = group_of(chunk, at, chunk.day[i]);
    Part& part = own(group);
    const Packed packed = chunk.slice_buckets(i);
    packed.each([&](std::size_t bucket, std::int64_t ns) {
      part.device_ns[bucket] += Int128{ns} * devices;
    });
    part.mask |= packed.mask;
    part.wall_device_ns += Int128{chunk.wall_ns[i]} * devices;
    part.failure_device_ns += Int128{chunk.failure_ns[i]} * devices;
    part.wall_ns += chunk.wall_ns[i];
    part.queued_ns += chunk.queued_ns[i];
    part.saves += chunk.saves[i];
    if (counted != group) {
      counted = group;
      ++part.attempts;
      part.running += chunk.ending[at] == Ending::running ? 1 : 0;
    }
  }
  if (counted != Chunk::kNone) {
    ++job_attempts_;
    job_running_ += chunk.ending[at] == Ending::running ? 1 : 0;
  }
  if (const std::uint32_t row = chunk.failure[at]; row != Chunk::kNone) {
    take_failure(chunk.failures[row], at, chunk);
  }
}

void Gathering::take_failure(const EncodedAttempt::Failed& failure, std::uint32_t at,
                             const Chunk& chunk) {
  const std::int32_t day = day_of(failure.t_ns);
  if (!filter_.has_day(day)) return;
  for (const std::uint32_t group : {group_of(chunk, at, day), groups_ + 1}) {
    Sum& sum = sums_[group];
    if (failure.origin == Origin::user) {
      ++sum.user_errors;
    } else if (failure.origin == Origin::preemption) {
      ++sum.preemptions;
    } else {
      ++sum.failures;
    }
    sum.unsaved_device_ns += Int128{failure.unsaved_ns} * chunk.devices[at];
  }
}

void Gathering::draw(std::uint32_t group, const Part& part) {
  Sum& sum = sums_[group];
  sum.part.add(part);
  ++sum.jobs;
  if (part.wall_device_ns == 0) return;
  ++sum.jobs_with_wall;
  const auto wall = static_cast<double>(part.wall_device_ns);
  drawn_.push_back({group, wall, part.effective(), static_cast<double>(part.failure_device_ns)});
  if (weight_ == Weight::device) return;
  for (std::uint32_t left = part.mask; left != 0; left &= left - 1) {
    const auto b = static_cast<std::size_t>(std::countr_zero(left));
    sum.shares[b] += static_cast<double>(part.device_ns[b]) / wall;
  }
}

void Gathering::end_job() {
  const std::uint32_t all = groups_ + 1;
  if (touched_.size() == 1) {
    draw(all, own_[touched_[0]]);
  } else {
    for (const std::uint32_t group : touched_) own_[all].add(own_[group]);
    own_[all].attempts = job_attempts_;  // one that is in several groups is still one
    own_[all].running = job_running_;
    draw(all, own_[all]);
    own_[all].clear();
  }
  for (const std::uint32_t group : touched_) {
    draw(group, own_[group]);
    own_[group].clear();
  }
  touched_.clear();
  job_attempts_ = job_running_ = 0;
}

void Gathering::finish_shares(std::vector<RollupGroup>& out) const {
  std::vector<RatioDoubt> effective, failure, idle;
  std::vector<MeanShareDoubt> means(weight_ == Weight::job ? 3 * sums_.size() : 0);
  for (const Sum& sum : sums_) {
    const auto wall = static_cast<double>(sum.part.wall_device_ns);
    const auto failed = static_cast<double>(sum.part.failure_device_ns);
    effective.emplace_back(sum.part.effective(), wall);
    failure.emplace_back(failed, wall);
    idle.emplace_back(wall - sum.part.effective() - failed, wall);
  }
  for (const Drawn& each : drawn_) {
    const double waited = each.wall - each.effective - each.failure;
    if (weight_ == Weight::job) {
      MeanShareDoubt* mean = &means[3 * each.group];
      mean[0].add(each.effective / each.wall);
      mean[1].add(each.failure / each.wall);
      mean[2].add(waited / each.wall);
    } else {
      effective[each.group].add(each.effective, each.wall);
      failure[each.group].add(each.failure, each.wall);
      idle[each.group].add(waited, each.wall);
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool by_job = weight_ == Weight::job;
    out[i].ett_pct = scaled(by_job ? means[3 * i].doubt() : effective[i].doubt(), 100);
    out[i].failure_pct = scaled(by_job ? means[3 * i + 1].doubt() : failure[i].doubt(), 100);
    out[i].idleness_pct = scaled(by_job ? means[3 * i + 2].doubt() : idle[i].doubt(), 100);
  }
}

void Gathering::finish_waits(const std::vector<Waited>& waits,
                             std::optional<Durations> RollupGroup::* field,
                             std::vector<RollupGroup>& out) const {
  // Group by group, each in the order of jobs; then all of them.
  std::vector<std::size_t> ends(sums_.size() + 1, 0);
  for (const Waited& each : waits) ++ends[each.group + 1];
  for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
  std::vector<std::size_t> next(ends.begin(), ends.end() - 1);
  std::vector<Lasted> sorted(waits.size());
  for (const Waited& each : waits) sorted[next[each.group]++] = each.lasted;
  SurvivalEstimator estimator;
  const std::span<const Lasted> all(sorted);
  for (std::uint32_t i = 0; i < groups_; ++i) {
    out[i].*field = estimator.durations(all.subspan(ends[i], ends[i + 1] - ends[i]));
  }
  if (groups_ == 1 && ends[1] == waits.size()) {
    out[groups_ + 1].*field = out[0].*field;
    return;
  }
  for (std::size_t i = 0; i < waits.size(); ++i) sorted[i] = waits[i].lasted;
  out[groups_ + 1].*field = estimator.durations(all);
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

}  // namespace

Rollup roll_up(const Snapshot& snapshot, const Selection& selection, const By& by) {
  const Gathering gathering(snapshot, selection, by);
  std::vector<RollupGroup> all = gathering.finish();
  const std::uint32_t groups = gathering.groups();
  Rollup out;
  out.total = std::move(all[groups + 1]);
  const bool grouped = by.day || !by.dimensions.empty();
  for (std::uint32_t i = 0; grouped && i < groups; ++i) {
    RollupGroup& group = all[i];
    if (group.attempts == 0 && !group.time_to_start && !group.time_to_recover &&
        group.failures + group.user_errors + group.preemptions == 0) {
      continue;
    }
    if (by.day) {
      group.key = {day_text(gathering.days().from + static_cast<std::int32_t>(i))};
    } else {
      group.key = gathering.series().values(snapshot, i);
    }
    out.groups.push_back(std::move(group));
  }
  out.more = by.day ? gathering.days_more() : gathering.series().more();
  return out;
}

}  // namespace headway::fleet
