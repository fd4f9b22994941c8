// A line of autotune-*.jsonl, which the hook writes while a job runs (docs/formats/autotune.md).
// Pure; any thread.
#pragma once

#include <string_view>

#include "autotune/observation.h"
#include "base/status.h"

namespace headway::autotune {

inline constexpr int kFeedbackVersion = 1;
inline constexpr std::size_t kLineBytesMax = std::size_t{4} << 20;

struct Feedback {
  Observation observation;
  std::size_t left_out = 0;  // configurations beyond kConfigsMax, twice there, or without a time
};

// An error says what is wrong, without file and line.
base::Result<Feedback> parse_feedback(std::string_view line);

}  // namespace headway::autotune
