// What `headway fleet` tells a person or a program in the end, however it was reckoned: in this
// process or by Spark. Plain data, and two ways to write it. Sums are exact; hours and shares are
// made of them here and nowhere else.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/wide.h"
#include "cli/output.h"
#include "cli/style.h"
#include "timeline/bucket.h"

namespace headway::cli {

struct FleetGroup {
  std::string key;                                     // the dimension's value; "": not given
  std::uint64_t jobs = 0, attempts = 0, failures = 0;  // failures: of infra and unknown origin
  std::array<base::Int128, timeline::kBuckets> device_ns{};
  base::Int128 failure_device_ns = 0;
};

struct FleetNote {
  std::string job, lost, file, reason;
};

struct FleetSummary {
  static constexpr std::size_t notes_max = 20;

  std::string journals, out;  // out: "" where nothing was written
  std::uint64_t jobs = 0, attempts = 0, bytes = 0, tasks = 0;
  std::string first_day, last_day, by;
  std::vector<FleetGroup> groups;
  std::uint64_t jobs_lost = 0, files_lost = 0, files_damaged = 0;
  std::vector<FleetNote> notes;  // the first of them
  std::map<std::string, double> timings_s;
};

// As python/headway/fleet/history.py writes it.
[[nodiscard]] base::Result<FleetSummary> read_summary(const std::string& json);

[[nodiscard]] std::string to_text(const FleetSummary& summary, const Style& style);
[[nodiscard]] Json to_json(const FleetSummary& summary);

}  // namespace headway::cli
