// Hosts that fail more than their share ("lemons"). A host that works much fails much, so failures
// are held against exposure: the device time of attempts on it, an attempt's own split evenly over
// its hosts. What is expected of a host is that at the fleet's rate.
//
// - A failure counts with the host of the rank that failed first, if its origin is infra or
//   unknown. Where a job fails again on the same host without having trained in between, that is
//   one failure: a crash loop says little more than its first crash.
// - How surprising a count is: Poisson, against the rate of all other hosts. Out of thousands of
//   hosts some surprise by chance, so what is shown is the q-value (Benjamini and Hochberg): among
//   hosts with q ≤ 0.05 about one in twenty is blamed wrongly.
// - How bad it is: `score`, how many times the fleet's rate, shrunk towards 1 by a gamma prior that
//   is fitted to all hosts (a host with 2 failures where 0.1 was expected is not 20 times worse).
// - A lemon is both: q ≤ 0.05, score ≥ 2, and at least three failures.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet/selection.h"

namespace headway::fleet {

struct HostRow {
  std::string host;
  std::uint64_t attempts = 0;
  double device_hours = 0;
  std::uint64_t failures = 0;
  double expected = 0;
  double score = 1;
  double q_value = 1;
  bool lemon = false;
  double device_hours_lost = 0;
  std::optional<std::int64_t> last_failure_ns;
};

struct Hosts {
  std::vector<HostRow> hosts;  // worst first
  std::uint64_t more = 0;      // that are not shown
  // Of all failures and all device time, known hosts or not.
  std::optional<double> failures_per_1000_device_hours;
};

inline constexpr std::size_t hosts_shown_max = 200;
inline constexpr double lemon_q_max = 0.05, lemon_score_min = 2;
inline constexpr std::uint64_t lemon_failures_min = 3;
[[nodiscard]] Hosts hosts(const Snapshot& snapshot, const Selection& selection);

}  // namespace headway::fleet
