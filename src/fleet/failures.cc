#include "fleet/failures.h"

#include <algorithm>

#include "fleet/scan.h"

namespace headway::fleet {
namespace {

constexpr std::size_t kOrigins = 5;  // their numbers begin at 1

struct Found {
  std::uint64_t count = 0, jobs = 0;
  std::uint32_t counted_job = Chunk::kNone;  // whose failures are counted in `jobs` already
  Int128 lost_device_ns = 0, unsaved_device_ns = 0;
  std::vector<Lasted> recoveries;
  std::uint32_t last_job = 0;
  std::int64_t last_attempt = 0, last_ns = -1;
};

class FailureGathering {
 public:
  FailureGathering(const Snapshot& snapshot, const Selection& selection)
      : filter_(snapshot, selection), found_(snapshot.categories().size() * kOrigins) {
    each_job(snapshot, filter_, [&](const Chunk& chunk, const Chunk::Job& job) {
      for (std::uint32_t at = job.first; at < job.first + job.count; ++at) {
        const std::uint32_t row = chunk.failure[at];
        if (row == Chunk::kNone || !filter_.has_day(day_of(chunk.failures[row].t_ns))) continue;
        if (filter_.has_attempt(chunk, at)) take(snapshot, chunk, job, at);
      }
    });
  }
  [[nodiscard]] Failures finish(const Snapshot& snapshot) const;

 private:
  void take(const Snapshot& snapshot, const Chunk& chunk, const Chunk::Job& job, std::uint32_t at);

  Filter filter_;
  std::vector<Found> found_;  // by category and origin
};

void FailureGathering::take(const Snapshot& snapshot, const Chunk& chunk, const Chunk::Job& job,
                            std::uint32_t at) {
  const EncodedAttempt::Failed& failure = chunk.failures[chunk.failure[at]];
  Found& found = found_[failure.category * kOrigins + static_cast<std::size_t>(failure.origin)];
  ++found.count;
  found.jobs += found.counted_job == job.id ? 0 : 1;
  found.counted_job = job.id;
  found.lost_device_ns += Int128{failure.lost_ns} * chunk.devices[at];
  found.unsaved_device_ns += Int128{failure.unsaved_ns} * chunk.devices[at];
  const std::uint32_t last = job.first + job.count - 1;
  if (failure.time_to_recover_ns >= 0) {
    found.recoveries.push_back({failure.time_to_recover_ns, job.id, true});
  } else if (at != last) {
    const std::int64_t so_far_ns = std::max<std::int64_t>(0, chunk.end_ns[last] - failure.t_ns);
    found.recoveries.push_back({so_far_ns, job.id, false});
  }
  const auto later = [&] {
    if (failure.t_ns != found.last_ns) return failure.t_ns > found.last_ns;
    if (job.id != found.last_job) return snapshot.jobs()[job.id] < snapshot.jobs()[found.last_job];
    return chunk.attempt[at] > found.last_attempt;
  };
  if (!later()) return;
  found.last_ns = failure.t_ns;
  found.last_job = job.id;
  found.last_attempt = chunk.attempt[at];
}

Failures FailureGathering::finish(const Snapshot& snapshot) const {
  Failures out;
  SurvivalEstimator estimator;
  Int128 lost_device_ns = 0;
  for (std::size_t i = 0; i < found_.size(); ++i) {
    const Found& found = found_[i];
    if (found.count == 0) continue;
    FailureCategory& row = out.categories.emplace_back();
    row.category = snapshot.categories()[static_cast<std::uint32_t>(i / kOrigins)];
    row.origin = static_cast<Origin>(i % kOrigins);
    row.count = found.count;
    row.jobs = found.jobs;
    row.device_hours_lost = device_hours(found.lost_device_ns);
    row.unsaved_device_hours = device_hours(found.unsaved_device_ns);
    row.time_to_recover = estimator.durations(found.recoveries);
    row.last_job = snapshot.jobs()[found.last_job];
    row.last_attempt = found.last_attempt;
    row.last_ns = found.last_ns;
    lost_device_ns += found.lost_device_ns;
  }
  out.device_hours_lost = device_hours(lost_device_ns);
  std::ranges::sort(out.categories, [](const FailureCategory& a, const FailureCategory& b) {
    if (a.device_hours_lost != b.device_hours_lost) {
      return a.device_hours_lost > b.device_hours_lost;
    }
    return std::pair(a.category, a.origin) < std::pair(b.category, b.origin);
  });
  return out;
}

}  // namespace

Failures failures(const Snapshot& snapshot, const Selection& selection) {
  return FailureGathering(snapshot, selection).finish(snapshot);
}

}  // namespace headway::fleet
