// The arguments of a question about the fleet: days, values of dimensions, weights. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "fleet/rollup.h"
#include "fleet/selection.h"
#include "fleet/table.h"
#include "net/http_server.h"

namespace headway::collector {

inline constexpr std::size_t where_max = 100;
inline constexpr std::int32_t days_by_default = 30;

// The days on which the snapshot has anything; from == to: none.
struct DayRange {
  std::int32_t from = 0, to = 0;
};
[[nodiscard]] DayRange days_with_data(const fleet::Snapshot& snapshot);

// "from", "to", "where" and "weight", with `suffix` behind each name. Where no days are given, the
// last thirty that have anything.
[[nodiscard]] base::Result<fleet::Selection> selection_of(const net::ServerRequest& request,
                                                          const fleet::Snapshot& snapshot,
                                                          std::string_view suffix = "");
// "family,team"; at most two.
[[nodiscard]] base::Result<std::vector<fleet::Dimension>> dimensions_of(std::string_view text);
// The same for a roll-up, where one of the words may be "day": "family,day".
[[nodiscard]] base::Result<fleet::By> by_of(std::string_view text);
// All of that name.
[[nodiscard]] base::Result<std::vector<fleet::Where>> where_of(const net::ServerRequest& request,
                                                               std::string_view name);
// Of an argument that may be missing.
[[nodiscard]] base::Result<std::int64_t> number_of(const net::ServerRequest& request,
                                                   std::string_view name, std::int64_t otherwise,
                                                   std::int64_t min, std::int64_t max);

}  // namespace headway::collector
