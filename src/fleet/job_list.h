// The jobs of a fleet one by one, the last begun first, page by page. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/selection.h"
#include "fleet/table.h"

namespace headway::fleet {

enum class JobState : std::uint8_t { running, finished, failed, unended };
[[nodiscard]] std::string_view job_state_name(JobState state);
[[nodiscard]] std::optional<JobState> job_state_of(std::string_view name);

struct ListedJob {
  std::string_view job;  // of the snapshot
  JobState state = JobState::unended;
  std::int64_t begin_ns = 0, end_ns = 0;                 // so far
  std::array<std::string_view, kDimensions> dimensions;  // of the newest attempt
  std::uint32_t devices = 1, attempts = 0;
  std::int64_t wall_ns = 0, effective_ns = 0;
  std::uint32_t failures = 0;  // of infra and unknown origin
};

// Where a page ended: the next one begins behind it.
struct JobCursor {
  std::int64_t begin_ns = INT64_MAX;
  std::string job;
};

struct JobQuestion {
  std::vector<Where> where;
  std::string text;  // that the name holds
  std::optional<JobState> state;
  std::uint32_t limit = 100;
  std::optional<JobCursor> behind;
  std::int64_t now_ns = 0;
  std::int64_t silent_ns = 120'000'000'000;  // without a word, a job no longer runs

  static constexpr std::uint32_t limit_max = 1000;
};

struct JobList {
  std::vector<ListedJob> jobs;
  bool more = false;
};
[[nodiscard]] JobList list_jobs(const Snapshot& snapshot, const JobQuestion& question);

}  // namespace headway::fleet
