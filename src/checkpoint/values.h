// The elements of a tensor as numbers: their statistics, and how two stretches of them differ.
// Every type is seen as a double (integers beyond 2^53 lose their last digits). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "checkpoint/tensor.h"

namespace headway::checkpoint {

struct Statistics {
  std::uint64_t count = 0;
  std::uint64_t nan = 0, inf = 0, zero = 0;
  // Of the finite ones.
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;
  [[nodiscard]] std::uint64_t finite() const { return count - nan - inf; }
  [[nodiscard]] double mean() const {
    return finite() > 0 ? sum / static_cast<double>(finite()) : 0;
  }
};
// `data` holds whole elements, in memory of any alignment.
void add_values(DType dtype, std::span<const std::byte> data, Statistics& into);

struct Difference {
  std::uint64_t elements = 0;          // whose bytes differ
  std::uint64_t not_finite = 0;        // of these: where one of the two is no finite number
  double max_abs = 0;                  // of the others
  std::optional<std::uint64_t> first;  // index among all elements that were compared
};
// `a` and `b` are of the same size; `index`: of their first element.
void add_difference(DType dtype, std::span<const std::byte> a, std::span<const std::byte> b,
                    std::uint64_t index, Difference& into);

[[nodiscard]] double half_to_double(std::uint16_t bits);
[[nodiscard]] double f8_e4m3_to_double(std::uint8_t bits);
[[nodiscard]] double f8_e5m2_to_double(std::uint8_t bits);

}  // namespace headway::checkpoint
