#include "fleet/hosts.h"

#include <algorithm>
#include <cmath>

#include "fleet/poisson.h"
#include "fleet/scan.h"
#include "fleet/series_index.h"

namespace headway::fleet {
namespace {

struct Found {
  std::uint64_t attempts = 0, failures = 0;
  double exposure_ns = 0;  // device time
  Int128 lost_device_ns = 0;
  std::int64_t last_failure_ns = -1;
};

class HostGathering {
 public:
  HostGathering(const Snapshot& snapshot, const Selection& selection)
      : filter_(snapshot, selection), found_(snapshot.hosts().size()) {
    each_job(snapshot, filter_, [&](const Chunk& chunk, const Chunk::Job& job) {
      looping_on_ = EncodedAttempt::kNoHost;
      for (std::uint32_t at = job.first; at < job.first + job.count; ++at) {
        if (filter_.has_attempt(chunk, at)) take(chunk, at);
      }
    });
  }
  [[nodiscard]] Hosts finish(const Snapshot& snapshot) const;

 private:
  void take(const Chunk& chunk, std::uint32_t at);
  void take_failure(const Chunk& chunk, std::uint32_t at, double share_ns);

  Filter filter_;
  std::vector<Found> found_;
  Int128 device_ns_ = 0;
  std::uint64_t failures_ = 0;
  std::uint32_t looping_on_ = EncodedAttempt::kNoHost;
};

void HostGathering::take(const Chunk& chunk, std::uint32_t at) {
  const Int128 device_ns = device_ns_of(chunk, at, filter_);
  device_ns_ += device_ns;
  const std::uint32_t begin = chunk.first_host[at], end = chunk.first_host[at + 1];
  const double share_ns = static_cast<double>(device_ns) / std::max(1u, end - begin);
  for (std::uint32_t i = begin; device_ns > 0 && i < end; ++i) {
    Found& host = found_[chunk.hosts[i]];
    ++host.attempts;
    host.exposure_ns += share_ns;
  }
  if (chunk.start[at] != Chunk::kNone) looping_on_ = EncodedAttempt::kNoHost;
  if (chunk.failure[at] != Chunk::kNone) take_failure(chunk, at, share_ns);
}

void HostGathering::take_failure(const Chunk& chunk, std::uint32_t at, double share_ns) {
  const EncodedAttempt::Failed& failure = chunk.failures[chunk.failure[at]];
  if (!filter_.has_day(day_of(failure.t_ns))) return;
  if (failure.origin != Origin::infra && failure.origin != Origin::unknown) return;
  ++failures_;
  if (failure.host == EncodedAttempt::kNoHost) return;
  Found& host = found_[failure.host];
  host.lost_device_ns += Int128{failure.lost_ns} * chunk.devices[at];
  host.last_failure_ns = std::max(host.last_failure_ns, failure.t_ns);
  const auto begin = chunk.hosts.begin() + chunk.first_host[at];
  const auto end = chunk.hosts.begin() + chunk.first_host[at + 1];
  if (std::find(begin, end, failure.host) == end) {
    ++host.attempts;  // it was there, though the list does not have it
    host.exposure_ns += share_ns;
  }
  if (looping_on_ != failure.host) ++host.failures;
  looping_on_ = failure.host;
}

// The shape of a gamma distribution of mean 1 that hosts' true rates are drawn from: by moments,
// Σ((count − expected)² − expected) = Σ expected² ÷ shape.
double prior_shape(const std::vector<HostRow>& rows) {
  // Hosts are never taken to be all alike: that would shrink a single lemon among them to nothing.
  constexpr double shape_min = 0.5, shape_max = 2;
  double excess = 0, squares = 0;
  for (const HostRow& row : rows) {
    const double off = static_cast<double>(row.failures) - row.expected;
    excess += off * off - row.expected;
    squares += row.expected * row.expected;
  }
  if (excess <= 0) return shape_max;
  return std::clamp(squares / excess, shape_min, shape_max);
}

void set_q_values(std::vector<HostRow>& rows) {
  // `q_value` holds p so far. From the largest down, so that a smaller p never has the larger q.
  std::ranges::sort(rows, [](const HostRow& a, const HostRow& b) {
    if (a.q_value != b.q_value) return a.q_value < b.q_value;
    return a.score != b.score ? a.score > b.score : a.host < b.host;
  });
  double least = 1;
  const auto count = static_cast<double>(rows.size());
  for (std::size_t i = rows.size(); i-- > 0;) {
    least = std::min(least, rows[i].q_value * count / static_cast<double>(i + 1));
    rows[i].q_value = least;
  }
}

Hosts HostGathering::finish(const Snapshot& snapshot) const {
  Hosts out;
  double exposure_ns = 0;
  std::uint64_t failures = 0;
  for (const Found& each : found_) {
    exposure_ns += each.exposure_ns;
    failures += each.failures;
  }
  if (device_ns_ > 0) {
    out.failures_per_1000_device_hours =
        static_cast<double>(failures_) / device_hours(device_ns_) * 1000;
  }
  const auto all = static_cast<double>(failures);
  for (std::uint32_t id = 0; id < found_.size(); ++id) {
    const Found& each = found_[id];
    if (each.exposure_ns <= 0) continue;
    HostRow& row = out.hosts.emplace_back();
    row.host = snapshot.hosts()[id];
    row.attempts = each.attempts;
    row.device_hours = each.exposure_ns / 3.6e12;
    row.failures = each.failures;
    row.expected = all * each.exposure_ns / exposure_ns;
    row.device_hours_lost = device_hours(each.lost_device_ns);
    if (each.last_failure_ns >= 0) row.last_failure_ns = each.last_failure_ns;
    // Half a failure more of the others: where they have none, their rate is still not 0.
    const double others_ns = exposure_ns - each.exposure_ns;
    const double others = all - static_cast<double>(each.failures) + 0.5;
    row.q_value = others_ns <= exposure_ns * 1e-9
                      ? 1
                      : poisson_at_least(each.failures, others / others_ns * each.exposure_ns);
  }
  const double shape = prior_shape(out.hosts);
  for (HostRow& row : out.hosts) {
    row.score = (shape + static_cast<double>(row.failures)) / (shape + row.expected);
  }
  set_q_values(out.hosts);
  for (HostRow& row : out.hosts) {
    row.lemon = row.q_value <= lemon_q_max && row.score >= lemon_score_min &&
                row.failures >= lemon_failures_min;
  }
  std::ranges::stable_partition(out.hosts, &HostRow::lemon);
  if (out.hosts.size() > hosts_shown_max) {
    out.more = out.hosts.size() - hosts_shown_max;
    out.hosts.resize(hosts_shown_max);
  }
  return out;
}

}  // namespace

Hosts hosts(const Snapshot& snapshot, const Selection& selection) {
  return HostGathering(snapshot, selection).finish(snapshot);
}

}  // namespace headway::fleet
