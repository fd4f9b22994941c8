// Facts by hand, for tests: short attempts with a few buckets each.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/fact.h"
#include "fleet/made_fleet.h"
#include "fleet/selection.h"
#include "fleet/table.h"

namespace headway::fleet {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;
inline constexpr std::int64_t kHourNs = 3600 * kSecondNs;
inline constexpr std::int32_t kDay = 20'700;  // the first day of what tests make

inline AttemptFacts facts_by_hand(std::int64_t attempt, std::string_view family,
                                  std::uint32_t devices, std::int64_t effective_ns,
                                  std::int64_t idle_ns, std::int64_t failed_ns,
                                  std::int32_t day = kDay) {
  AttemptFacts facts;
  facts.attempt = attempt;
  facts.dimensions[0] = family;
  facts.dimensions[static_cast<std::size_t>(Dimension::size)] = size_class(devices);
  facts.devices = devices;
  facts.begin_ns = day * kDayNs + attempt * kSecondNs;
  facts.end_ns = facts.begin_ns + effective_ns + idle_ns + failed_ns;
  facts.ending = Ending::clean;
  Slice& slice = facts.slices.emplace_back();
  slice.day = day;
  slice.sums[timeline::Bucket::effective] = effective_ns;
  slice.sums[timeline::Bucket::compile_cold] = idle_ns;
  slice.sums[timeline::Bucket::down] = failed_ns;
  slice.failure_ns = failed_ns;
  return facts;
}

inline Start start_by_hand(std::int64_t from_ns, std::int64_t length_ns, bool recovery = false) {
  Start start;
  start.from_ns = from_ns;
  start.trained_ns = from_ns + length_ns;
  start.recovery = recovery;
  start.parts[timeline::Bucket::compile_cold] = length_ns;
  return start;
}

inline Selection all_days() {
  Selection selection;
  selection.from_day = 0;
  selection.to_day = 100'000;
  return selection;
}

inline std::vector<MadeJob> made_jobs(std::uint64_t seed, std::size_t count) {
  MadeFleet::Settings settings;
  settings.seed = seed;
  MadeFleet fleet(settings);
  std::vector<MadeJob> jobs;
  for (std::size_t i = 0; i < count; ++i) jobs.push_back(fleet.next());
  return jobs;
}

inline std::shared_ptr<const Snapshot> snapshot_of(const std::vector<MadeJob>& jobs) {
  FleetTable table;
  for (const MadeJob& job : jobs) {
    for (const AttemptFacts& facts : job.attempts) table.upsert(job.name, facts);
  }
  return table.snapshot();
}

}  // namespace headway::fleet
