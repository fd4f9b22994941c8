// A whole job: its attempts in order, their ledgers joined, and what lies between them. This is
// what metrics are computed from. Pure: `now` is an argument.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/job_path.h"
#include "event/stream.h"
#include "timeline/attempt.h"

namespace headway::timeline {

static_assert(base::kLaunchesPerAllocation == 1 << 16);
[[nodiscard]] constexpr std::int64_t allocation_of(std::int64_t attempt) {
  return attempt >> 16;
}
[[nodiscard]] constexpr std::int64_t launch_of(std::int64_t attempt) {
  return attempt & 0xffff;
}

// Time between the first and the last event of a job in which it held no resources.
struct Outside {
  std::int64_t t0_ns = 0;
  std::int64_t t1_ns = 0;
  bool queued = true;  // it waited for them; otherwise nobody had asked
};

struct JobResult {
  std::string job;
  std::vector<AttemptResult> attempts;  // by id; their own ledgers are kept
  Ledger ledger;                        // the job's wall, sealed
  std::vector<Outside> outside;         // the wall; in order of time
  std::int64_t overlap_ns = 0;
  std::int64_t gap_ns = 0;
  std::int64_t unsaved_ns = 0;
  std::vector<std::int64_t> unsaved_by_attempt_ns;  // as `attempts`
  std::vector<std::int64_t> down_before_ns;  // as `attempts`: from the end before to its beginning
  std::optional<std::int64_t> allocated_ns;  // the first known
  bool running = false;
  bool used_step_numbers = false;          // `data` was not known throughout
  std::vector<std::string> missing_marks;  // of the first attempt, for `coverage`
  std::map<std::string, std::string> attrs;
  std::map<std::string, std::int64_t> user_spans;

  [[nodiscard]] std::int64_t outside_ns(bool queued, std::int64_t from_ns = -kTimeMax,
                                        std::int64_t to_ns = kTimeMax) const;
};

struct JobOptions {
  std::optional<std::int64_t> now_ns;  // set when the job is alive
};

// Joins attempts, in order of id, into a job. `names` may be null.
[[nodiscard]] JobResult join_attempts(const std::string& job, std::vector<AttemptResult> attempts,
                                      bool use_steps, const event::NameTable* names);

// All attempts but the newest, attributed from their streams, and what the newest begins with.
struct EarlierAttempts {
  std::vector<AttemptResult> attempts;
  std::vector<const event::Stream*> next_streams;  // of `job`; none: it has no streams
  AttemptOptions next;
  bool missing_data = false;  // some step lacks `data`
};
[[nodiscard]] EarlierAttempts attribute_earlier(const event::JobStreams& job, bool use_steps);

[[nodiscard]] JobResult attribute_job(const event::JobStreams& job, const JobOptions& options);

}  // namespace headway::timeline
