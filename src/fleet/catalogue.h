// What there is to ask about: values of dimensions, switches, the first and the last day. Pure; any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet/table.h"

namespace headway::fleet {

struct Catalogue {
  struct Value {
    std::string value;
    std::uint64_t attempts = 0;
    double device_hours = 0;
  };
  struct Values {
    std::vector<Value> values;  // most device-hours first
    std::uint64_t more = 0;     // that are not shown
  };
  struct Lever {
    std::string name;
    std::uint64_t attempts = 0;
  };
  static constexpr std::size_t values_max = 200;

  std::array<Values, kDimensions> dimensions;
  std::vector<Lever> levers;                        // by name
  std::optional<std::int32_t> first_day, last_day;  // with wall time; none: there is nothing
  std::uint64_t jobs = 0, jobs_running = 0, attempts = 0;
};

[[nodiscard]] Catalogue catalogue(const Snapshot& snapshot);

}  // namespace headway::fleet
