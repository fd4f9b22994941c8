#include "checkpoint/parts.h"

#include <algorithm>

#include "base/check.h"

namespace headway::checkpoint {

void each_part(const Box& box, std::size_t element_bytes, std::uint64_t bytes_max,
               const std::function<void(const Box& part)>& use) {
  if (box.empty()) return;
  // The first dimension that can be cut; those before it have one row.
  std::size_t d = 0;
  while (d < box.dimensions() && box.shape[d] == 1) ++d;
  if (d == box.dimensions()) return use(box);
  std::uint64_t row_bytes = element_bytes;
  for (std::size_t i = d + 1; i < box.dimensions(); ++i) row_bytes *= box.shape[i];
  const std::uint64_t rows = std::max<std::uint64_t>(1, bytes_max / row_bytes);
  for (std::uint64_t row = 0; row < box.shape[d]; row += rows) {
    Box part = box;
    part.offsets[d] += row;
    part.shape[d] = std::min(rows, box.shape[d] - row);
    if (row_bytes > bytes_max) {
      each_part(part, element_bytes, bytes_max, use);
    } else {
      use(part);
    }
  }
}

std::optional<Box> rows_of_rank(const std::vector<std::uint64_t>& shape, std::uint32_t rank,
                                std::uint32_t ranks) {
  HW_CHECK(rank < ranks);
  Box box = whole_box(shape);
  if (shape.empty() || box.empty()) return rank == 0 ? std::optional(box) : std::nullopt;
  const std::uint64_t each = shape[0] / ranks + (shape[0] % ranks != 0 ? 1 : 0);
  const std::uint64_t begin = std::min(shape[0], each * rank);
  const std::uint64_t end = std::min(shape[0], begin + each);
  if (begin == end) return std::nullopt;
  box.offsets[0] = begin;
  box.shape[0] = end - begin;
  return box;
}

Box whole_box(const std::vector<std::uint64_t>& shape) {
  return {std::vector<std::uint64_t>(shape.size(), 0), shape};
}

}  // namespace headway::checkpoint
