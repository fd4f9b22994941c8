// Many tensors, or parts of them, read one behind the other through memory of a bounded size: small
// ones together, large ones in parts.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "checkpoint/load.h"

namespace headway::checkpoint {

inline constexpr std::uint64_t batch_bytes = 64 << 20;

struct BatchItem {
  const TensorInfo* tensor;
  Box box;
};
// `data[i]`: what reader i has of the part, of item `item`, which begins at element `index` of it.
using UseBatch = std::function<base::Status(std::size_t item, std::uint64_t index,
                                            const std::vector<std::span<const std::byte>>& data)>;

// For each item in order, its elements in order. All readers must have the items' tensors alike.
base::Status read_in_batches(const std::vector<const CheckpointReader*>& readers,
                             const std::vector<BatchItem>& items, const UseBatch& use);

}  // namespace headway::checkpoint
