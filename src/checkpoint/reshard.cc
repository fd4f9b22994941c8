#include "checkpoint/reshard.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace headway::checkpoint {
namespace {

// Elements between the beginnings of two neighbours along each dimension.
std::vector<std::uint64_t> strides_of(const Box& box) {
  std::vector<std::uint64_t> strides(box.dimensions(), 1);
  for (std::size_t d = box.dimensions(); d-- > 1;) strides[d - 1] = strides[d] * box.shape[d];
  return strides;
}

// How many of the last dimensions `part` fills in both boxes: a run goes through all of them.
std::size_t filled_dimensions(const Box& part, const Box& piece, const Box& wanted) {
  std::size_t filled = 0;
  while (filled < part.dimensions()) {
    const std::size_t d = part.dimensions() - 1 - filled;
    if (part.shape[d] != piece.shape[d] || part.shape[d] != wanted.shape[d]) break;
    ++filled;
  }
  return filled;
}

// Have something in common; without a box to hold it.
bool touches(const Box& a, const Box& b) {
  if (a.dimensions() != b.dimensions()) return false;
  for (std::size_t d = 0; d < a.dimensions(); ++d) {
    if (std::max(a.offsets[d], b.offsets[d]) >= std::min(a.end(d), b.end(d))) return false;
  }
  return true;
}

}  // namespace

bool Box::empty() const {
  return std::any_of(shape.begin(), shape.end(), [](std::uint64_t size) { return size == 0; });
}

std::string Box::text() const {
  std::string out = "[";
  for (std::size_t d = 0; d < dimensions(); ++d) {
    out += fmt::format("{}{}:{}", d == 0 ? "" : ", ", offsets[d], end(d));
  }
  return out + "]";
}

std::optional<Box> common_part(const Box& a, const Box& b) {
  if (a.dimensions() != b.dimensions()) return std::nullopt;
  Box common;
  for (std::size_t d = 0; d < a.dimensions(); ++d) {
    const std::uint64_t begin = std::max(a.offsets[d], b.offsets[d]);
    const std::uint64_t end = std::min(a.end(d), b.end(d));
    if (begin >= end) return std::nullopt;
    common.offsets.push_back(begin);
    common.shape.push_back(end - begin);
  }
  return common;
}

// Slices off what lies before and behind along one dimension after the other.
std::vector<Box> without(const Box& a, const Box& b) {
  if (a.empty()) return {};
  const auto common = common_part(a, b);
  if (!common) return {a};
  std::vector<Box> rest;
  Box left = a;
  for (std::size_t d = 0; d < a.dimensions(); ++d) {
    const auto keep = [&](std::uint64_t begin, std::uint64_t end) {
      if (begin >= end) return;
      Box slice = left;
      slice.offsets[d] = begin;
      slice.shape[d] = end - begin;
      rest.push_back(std::move(slice));
    };
    keep(left.offsets[d], common->offsets[d]);
    keep(common->end(d), left.end(d));
    left.offsets[d] = common->offsets[d];
    left.shape[d] = common->shape[d];
  }
  return rest;
}

base::Result<std::vector<Portion>> plan_portions(const Box& wanted,
                                                 const std::vector<Box>& pieces) {
  std::vector<Portion> portions;
  std::vector<Box> missing;
  std::size_t steps = 0;
  if (!wanted.empty()) missing.push_back(wanted);
  for (std::size_t i = 0; i < pieces.size() && !missing.empty(); ++i) {
    steps += missing.size();
    if (steps > plan_steps_max) {
      return base::Status::corrupt(
          fmt::format("{} is scattered over {} pieces in no order", wanted.text(), pieces.size()));
    }
    if (std::none_of(missing.begin(), missing.end(),
                     [&](const Box& box) { return touches(box, pieces[i]); })) {
      continue;
    }
    std::vector<Box> still;
    for (Box& box : missing) {
      if (!touches(box, pieces[i])) {
        still.push_back(std::move(box));
        continue;
      }
      portions.push_back({i, *common_part(box, pieces[i])});
      for (Box& rest : without(box, pieces[i])) still.push_back(std::move(rest));
    }
    missing = std::move(still);
  }
  if (missing.empty()) return portions;
  return base::Status::corrupt(fmt::format("{} of {} is in none of the {} pieces",
                                           missing.front().text(), wanted.text(), pieces.size()));
}

void each_run(const Box& part, const Box& piece, const Box& wanted, std::size_t element_bytes,
              const Run& run) {
  const std::size_t dimensions = part.dimensions();
  HW_CHECK(piece.dimensions() == dimensions && wanted.dimensions() == dimensions);
  if (part.empty()) return;
  const auto from_strides = strides_of(piece), to_strides = strides_of(wanted);
  const std::size_t filled = filled_dimensions(part, piece, wanted);
  // The dimension before the filled ones may be cut: a run is a stretch of it.
  const std::size_t outer = dimensions - std::min(dimensions, filled + 1);
  std::uint64_t elements = 1;
  for (std::size_t d = outer; d < dimensions; ++d) elements *= part.shape[d];
  std::vector<std::uint64_t> at(outer, 0);  // in the part
  while (true) {
    std::uint64_t from = 0, to = 0;
    for (std::size_t d = 0; d < dimensions; ++d) {
      const std::uint64_t place = part.offsets[d] + (d < outer ? at[d] : 0);
      from += (place - piece.offsets[d]) * from_strides[d];
      to += (place - wanted.offsets[d]) * to_strides[d];
    }
    run(from * element_bytes, to * element_bytes, elements * element_bytes);
    std::size_t d = outer;
    while (d > 0 && ++at[d - 1] == part.shape[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace headway::checkpoint
