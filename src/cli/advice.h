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

// How often to save, as `headway interval` says of the same job (interval_question.h).
struct SaveAdvice {
  std::string too_short;              // why the record does not tell; empty: it does
  double cost_s = 0;                  // of a usual save; 0: nothing to speak of
  double persist_s = 0, stage_s = 0;  // the best plan
};
// Losses that saving more or less often changes.
[[nodiscard]] bool is_about_saves(timeline::Bucket bucket);
// Whether advice on these losses needs it: it takes another look at all records.
[[nodiscard]] bool wants_save_advice(const metrics::Report& report);

// `saves` nullopt: nobody has looked, or the report is of a part of the job, so that its totals of
// saves do not belong to it.
[[nodiscard]] std::string advice_for(timeline::Bucket bucket, const metrics::Report& report,
                                     const std::optional<SaveAdvice>& saves, const Style& style);

}  // namespace headway::cli
