// Where the fleet loses time: every bucket but effective, the largest first, with the attempts that
// lose most there. What to do about it says bucket_words.h. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet/selection.h"
#include "timeline/bucket.h"

namespace headway::fleet {

struct Loss {
  struct Attempt {
    std::string job;
    std::int64_t attempt = 0;
    double device_hours = 0;
  };
  static constexpr std::size_t worst_max = 5;

  timeline::Bucket bucket = timeline::Bucket::down;
  double device_hours = 0;
  double share_pct = 0;        // of all device-hours; weighted by job: mean of the jobs' shares
  std::uint64_t attempts = 0;  // that have any of it
  std::vector<Attempt> worst;  // most first
};

struct Losses {
  double device_hours = 0;        // of all wall time
  std::optional<double> ett_pct;  // by the weight
  std::vector<Loss> losses;       // by device-hours, weighted by job: by share; without empty ones
};

[[nodiscard]] Losses losses(const Snapshot& snapshot, const Selection& selection);

}  // namespace headway::fleet
