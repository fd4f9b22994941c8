// `headway fleet --spark`: starts the Spark job (python/headway/fleet) in a Python of this machine
// and waits for its summary. What the job says meanwhile goes to standard error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/fleet_summary.h"

namespace headway::cli {

struct SparkOptions {
  std::string master;
  std::string journals;
  std::string out;
  std::string by = "family";
  std::string tenant;
  std::string python;                 // empty: as `headway run` finds it
  std::vector<std::string> settings;  // of Spark: NAME=VALUE
  std::uint32_t partitions = 0;       // 0: as suits the jobs
  bool replace = false;
};

// `summary` is set when the job has done its work; else it has said why not, and the exit code is
// what it ended with.
struct SparkEnd {
  std::optional<FleetSummary> summary;
  int exit_code = 0;
};
[[nodiscard]] base::Result<SparkEnd> run_on_spark(const SparkOptions& options);

}  // namespace headway::cli
