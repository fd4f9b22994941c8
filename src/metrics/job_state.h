// How a job stands, in one word. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "timeline/job.h"

namespace headway::metrics {

enum class JobState : std::uint8_t {
  running,     // its agent is alive
  restarting,  // its agent is alive, the newest attempt has failed
  clean,
  stopped,  // told to end, and did so in good order
  failed,
  unended,  // nothing says that it ended, and nobody is running it
};

// `alive`: its agent is.
[[nodiscard]] JobState job_state(const timeline::JobResult& job, bool alive);
// As in the report's JSON.
[[nodiscard]] std::string_view job_state_name(JobState state);

[[nodiscard]] constexpr bool is_over(JobState state) {
  return state != JobState::running && state != JobState::restarting;
}

}  // namespace headway::metrics
