// Whether what a store says of its journals is what its batches add up to: every batch can be read,
// is news after those before it, and they end where the journals do. For any engine, also while
// others append.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "store/store.h"

namespace headway::store {

inline constexpr std::size_t check_lines_max = 100;

// Adds a line for all that is wrong, until there are that many.
base::Status check_batches(Store& store, std::vector<std::string>& wrong);

}  // namespace headway::store
