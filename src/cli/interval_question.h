// The one way from a job's record to how often it should save: `headway interval` and the report's
// advice both go it, so that they cannot disagree. Reads the streams; one thread.
#pragma once

#include <optional>
#include <string>

#include "cli/interval_answer.h"
#include "cli/interval_job.h"

namespace headway::cli {

// Of a record, the part that is looked at where nobody asks for another: its last week.
inline constexpr const char* kIntervalWindow = "-7d..";
inline constexpr double kBlockingAssumedS = 15;  // of a save, where none was seen
// Less says nothing of how often a job fails, and is mostly warming up.
inline constexpr double record_min_s = 1'800;
inline constexpr std::uint64_t saves_min = 3;  // before a shorter record knows what one costs

// All of it as measured. What was stated goes over it.
[[nodiscard]] IntervalQuestion question_of(IntervalJob job);

// What a caller has stated, and need not be known from the record.
struct Known {
  bool cost = false;
  bool rate = false;
};
// Why the record cannot say how often to save, in one sentence with a capital and a full stop;
// nullopt: it can.
[[nodiscard]] std::optional<std::string> too_short(const IntervalJob& job, const Known& known = {});

}  // namespace headway::cli
