// A tensor that was saved in pieces by n ranks, wanted in other pieces by m: which bytes go where.
// Boxes of any number of dimensions; row-major, as safetensors and torch store them. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace headway::checkpoint {

// A part of a whole tensor. A scalar has no dimensions and one element.
struct Box {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint64_t> shape;

  [[nodiscard]] std::size_t dimensions() const { return shape.size(); }
  [[nodiscard]] bool empty() const;
  [[nodiscard]] std::uint64_t end(std::size_t dimension) const {
    return offsets[dimension] + shape[dimension];
  }
  [[nodiscard]] std::string text() const;  // "[4:8, 0:16]"
  friend bool operator==(const Box&, const Box&) = default;
};

// None: nothing is common, or they are of different tensors.
[[nodiscard]] std::optional<Box> common_part(const Box& a, const Box& b);
// What of `a` is not in `b`, in boxes that share nothing.
[[nodiscard]] std::vector<Box> without(const Box& a, const Box& b);

// This part of the wanted box comes from that piece. Parts do not overlap, also where pieces do.
struct Portion {
  std::size_t piece = 0;  // index
  Box part;
};
// Everything that is wanted, from the first piece that has it. What no piece has is an error that
// names it: a lost shard must not be taken for old values. So is a scatter of pieces, in an order
// without rhyme, that would take longer than plan_steps_max comparisons to sort out.
inline constexpr std::size_t plan_steps_max = 20'000'000;
base::Result<std::vector<Portion>> plan_portions(const Box& wanted, const std::vector<Box>& pieces);

// Calls run(from, to, bytes) for every stretch of `part` that is contiguous both in the piece that
// holds it and in the wanted box; offsets in bytes from the beginning of each.
using Run = std::function<void(std::uint64_t from, std::uint64_t to, std::uint64_t bytes)>;
void each_run(const Box& part, const Box& piece, const Box& wanted, std::size_t element_bytes,
              const Run& run);

}  // namespace headway::checkpoint
