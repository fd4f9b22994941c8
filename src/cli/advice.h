// What a loss means and what to do about it today, with PyTorch and Headway as they are. Pure; any
// thread. A text is one or two sentences, begins with the cause where the bucket's name does not
// tell it, and names the setting, call or command to change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/style.h"
#include "metrics/report.h"

namespace headway::cli {

struct Loss {
  timeline::Bucket bucket;
  std::int64_t ns;
};

inline constexpr std::size_t losses_max = 3;
// Below this part of the wall time nothing is worth somebody's night.
inline constexpr std::int64_t loss_floor_divisor = 1'000;

// The largest buckets that are not effective training, the largest first.
[[nodiscard]] std::vector<Loss> largest_losses(const metrics::Report& report);

// The interval between saves at which lost work and blocking together cost least, by the job's own
// numbers: sqrt(2 x blocked per save x time in the loop / interruptions). Nullopt where one of them
// is not known. The report must be of the whole job.
[[nodiscard]] std::optional<double> best_save_interval_s(const metrics::Report& report);

// `windowed`: the report is of a part of the job, so that its totals of saves do not belong to it.
[[nodiscard]] std::string advice_for(timeline::Bucket bucket, const metrics::Report& report,
                                     bool windowed, const Style& style);

}  // namespace headway::cli
