// What jobs fail of, and what it costs: failures of the chosen days by category and origin. All
// origins are told here, errors of users and preemptions too. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet/selection.h"
#include "fleet/survival.h"

namespace headway::fleet {

struct FailureCategory {
  std::string category;  // "": nobody has judged them
  Origin origin = Origin::unknown;
  std::uint64_t count = 0, jobs = 0;
  double device_hours_lost = 0, unsaved_device_hours = 0;
  // From the failure until training goes on. Where another attempt was made and has not got there,
  // it is as long as that, at least; where nobody tried again, nothing is known.
  std::optional<Durations> time_to_recover;
  std::string last_job;  // the latest
  std::int64_t last_attempt = 0, last_ns = 0;
};

struct Failures {
  std::vector<FailureCategory> categories;  // most device-hours lost first
  double device_hours_lost = 0;
};

[[nodiscard]] Failures failures(const Snapshot& snapshot, const Selection& selection);

}  // namespace headway::fleet
