// Boxes cut into parts of a bounded size, and tensors cut into rows for ranks. Pure.
#pragma once

#include <cstdint>
#include <functional>

#include "checkpoint/reshard.h"

namespace headway::checkpoint {

// Calls use(part) for parts of `box` of at most `bytes_max` (one element at least), in the order of
// its elements: their contents one behind the other are the box's.
void each_part(const Box& box, std::size_t element_bytes, std::uint64_t bytes_max,
               const std::function<void(const Box& part)>& use);

// The rows of a tensor of `shape` that rank `rank` of `ranks` holds, as torch cuts them: all ranks
// but the last ones have the same number. A scalar, and a tensor without elements, is rank 0's.
// None: nothing is left for this rank.
[[nodiscard]] std::optional<Box> rows_of_rank(const std::vector<std::uint64_t>& shape,
                                              std::uint32_t rank, std::uint32_t ranks);

[[nodiscard]] Box whole_box(const std::vector<std::uint64_t>& shape);

}  // namespace headway::checkpoint
