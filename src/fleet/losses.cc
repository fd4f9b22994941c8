#include "fleet/losses.h"

#include <algorithm>
#include <array>

#include "fleet/scan.h"

namespace headway::fleet {
namespace {

using timeline::Bucket;
using timeline::kBuckets;

struct Worst {
  std::uint32_t job = 0;
  std::int64_t attempt = 0;
  Int128 device_ns = 0;
};

using BucketSums = std::array<Int128, kBuckets>;

class LossGathering {
 public:
  LossGathering(const Snapshot& snapshot, const Selection& selection)
      : names_(snapshot.jobs()), filter_(snapshot, selection), weight_(selection.weight) {
    each_job(snapshot, filter_,
             [&](const Chunk& chunk, const Chunk::Job& job) { take(chunk, job); });
    if (weight_ == Weight::device) device_ns_ = job_ns_;
  }
  [[nodiscard]] Losses finish() const;

 private:
  void take(const Chunk& chunk, const Chunk::Job& job);
  void take_attempt(const Chunk& chunk, std::uint32_t at, std::uint32_t job);
  void add(std::size_t bucket, Int128 device_ns, const Chunk& chunk, std::uint32_t at,
           std::uint32_t job);
  void rank(std::size_t bucket, const Worst& attempt);
  [[nodiscard]] bool worse(const Worst& a, const Worst& b) const {
    if (a.device_ns != b.device_ns) return a.device_ns > b.device_ns;
    return a.job != b.job ? names_[a.job] < names_[b.job] : a.attempt < b.attempt;
  }

  const DictionaryView& names_;
  Filter filter_;
  Weight weight_;
  BucketSums device_ns_{}, job_ns_{};
  std::uint32_t job_mask_ = 0;
  std::array<double, kBuckets> shares_{};
  std::array<std::uint64_t, kBuckets> attempts_{};
  std::array<std::vector<Worst>, kBuckets> worst_;
  BucketSums least_{};  // below this an attempt is not among the worst
  double jobs_ = 0;
};

void LossGathering::rank(std::size_t bucket, const Worst& attempt) {
  std::vector<Worst>& worst = worst_[bucket];
  if (worst.size() == Loss::worst_max) {
    if (!worse(attempt, worst.back())) return;
    worst.pop_back();
  }
  const auto place = std::ranges::upper_bound(
      worst, attempt, [&](const Worst& a, const Worst& b) { return worse(a, b); });
  worst.insert(place, attempt);
  if (worst.size() == Loss::worst_max) least_[bucket] = worst.back().device_ns;
}

void LossGathering::add(std::size_t bucket, Int128 device_ns, const Chunk& chunk, std::uint32_t at,
                        std::uint32_t job) {
  job_ns_[bucket] += device_ns;
  ++attempts_[bucket];
  if (device_ns >= least_[bucket]) rank(bucket, {job, chunk.attempt[at], device_ns});
}

void LossGathering::take_attempt(const Chunk& chunk, std::uint32_t at, std::uint32_t job) {
  const std::uint32_t begin = chunk.first_slice[at], end = chunk.first_slice[at + 1];
  const std::int64_t devices = chunk.devices[at];
  if (end - begin == 1) {  // as most have
    if (!filter_.has_day(chunk.day[begin])) return;
    const Packed packed = chunk.slice_buckets(begin);
    packed.each(
        [&](std::size_t b, std::int64_t ns) { add(b, Int128{ns} * devices, chunk, at, job); });
    job_mask_ |= packed.mask;
    return;
  }
  BucketSums ns{};
  std::uint32_t mask = 0;
  for (std::uint32_t i = begin; i < end; ++i) {
    if (!filter_.has_day(chunk.day[i])) continue;
    const Packed packed = chunk.slice_buckets(i);
    packed.each([&](std::size_t b, std::int64_t more) { ns[b] += more; });
    mask |= packed.mask;
  }
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const auto b = static_cast<std::size_t>(std::countr_zero(left));
    add(b, ns[b] * devices, chunk, at, job);
  }
  job_mask_ |= mask;
}

void LossGathering::take(const Chunk& chunk, const Chunk::Job& job) {
  job_mask_ = 0;
  for (std::uint32_t at = job.first; at < job.first + job.count; ++at) {
    if (filter_.has_attempt(chunk, at)) take_attempt(chunk, at, job.id);
  }
  if (job_mask_ == 0 || weight_ == Weight::device) return;  // then job_ns_ is that of all jobs
  Int128 wall_ns = 0;
  for (const Int128 each : job_ns_) wall_ns += each;
  const double wall = static_cast<double>(wall_ns);
  ++jobs_;
  for (std::uint32_t left = job_mask_; left != 0; left &= left - 1) {
    const auto b = static_cast<std::size_t>(std::countr_zero(left));
    device_ns_[b] += job_ns_[b];
    shares_[b] += static_cast<double>(job_ns_[b]) / wall;
    job_ns_[b] = 0;
  }
}

Losses LossGathering::finish() const {
  Losses out;
  Int128 wall_ns = 0;
  for (const Int128 each : device_ns_) wall_ns += each;
  out.device_hours = device_hours(wall_ns);
  if (wall_ns == 0) return out;
  const auto share_pct = [&](std::size_t b) {
    if (weight_ == Weight::job) return 100 * shares_[b] / jobs_;
    return 100 * static_cast<double>(device_ns_[b]) / static_cast<double>(wall_ns);
  };
  out.ett_pct = share_pct(timeline::index(Bucket::effective));
  for (std::size_t b = 0; b < kBuckets; ++b) {
    if (device_ns_[b] == 0 || static_cast<Bucket>(b) == Bucket::effective) continue;
    Loss& loss = out.losses.emplace_back();
    loss.bucket = static_cast<Bucket>(b);
    loss.device_hours = device_hours(device_ns_[b]);
    loss.share_pct = share_pct(b);
    loss.attempts = attempts_[b];
    for (const Worst& each : worst_[b]) {
      loss.worst.push_back(
          {std::string(names_[each.job]), each.attempt, device_hours(each.device_ns)});
    }
  }
  std::ranges::stable_sort(out.losses, std::greater(), &Loss::share_pct);
  return out;
}

}  // namespace

Losses losses(const Snapshot& snapshot, const Selection& selection) {
  return LossGathering(snapshot, selection).finish();
}

}  // namespace headway::fleet
