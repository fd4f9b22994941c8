// How many restarts a job may have. A plain value.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace headway::agent {

inline constexpr int kRestartsMax = 10000;

struct RestartBudget {
  int count = 0;
  std::int64_t window_ns = 0;  // 0: for the whole run
};
// "3", "3/1h", "10/30m", "5/1d".
base::Result<RestartBudget> parse_budget(const std::string& text);

}  // namespace headway::agent
