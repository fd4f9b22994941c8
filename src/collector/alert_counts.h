// Alerts as numbers: how many in which state, what those that are open are about, how soon all were
// found. Components are bounded: names of failures come from those who send. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "regress/sla.h"
#include "store/store.h"

namespace headway::collector {

struct OpenRegressions {
  std::uint64_t regressions = 0;
  double device_hours_per_day = 0;  // what they cost
};

struct AlertCounts {
  static constexpr std::size_t components_max = 64;  // the dearest, and one for the rest

  std::uint64_t open = 0, acknowledged = 0, gone = 0;
  std::map<std::string, OpenRegressions> components;  // of those that are open
  std::vector<regress::SlaRow> sla = {};
};

// Rows that cannot be read are passed over.
[[nodiscard]] AlertCounts count_alerts(std::span<const store::AlertRow> rows,
                                       const regress::AlertTargets& targets);

}  // namespace headway::collector
