// Which ranks of a job have rows in its drawing, where it has more than fit: those asked for, else
// those that failed and those that held up the others. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "timeline/job.h"

namespace headway::collector {

// "0-63,200": in this order, each once. Empty text: none. At most `max` of them.
[[nodiscard]] base::Result<std::vector<std::uint32_t>> parse_ranks(std::string_view text,
                                                                   std::size_t max);

struct ChosenRanks {
  std::vector<std::uint32_t> ranks;  // in the order in which they are to be drawn
  std::size_t of = 0;                // that any attempt has
};
// All in their order, where they fit; else failed ones first, the last to fail before the others,
// then whoever held up the others longest.
[[nodiscard]] ChosenRanks choose_ranks(const timeline::JobResult& job,
                                       const std::vector<std::uint32_t>& asked, std::size_t max);

}  // namespace headway::collector
