// What one rank keeps of a step in memory: the very bytes of its file on disk, so that writing it
// is no more than writing, and behind them, in the same form, what another rank writes for both
// (the parameters of data-parallel ranks are equal; one of them has to be stored). Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/tensor.h"

namespace headway::replica {

inline constexpr std::uint64_t chunk_bytes = 4 << 20;   // a checksum each
inline constexpr std::uint64_t image_alignment = 4096;  // of both parts: direct I/O, pages

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] std::uint64_t bytes() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

// A part of the image: a whole safetensors file.
struct ImagePart {
  Range range;
  checkpoint::SafetensorsPlan plan;
};

struct ImagePlan {
  ImagePart own;
  ImagePart rest;             // no bytes: everything is this rank's own
  std::uint64_t bytes = 0;    // of both
  std::vector<Range> places;  // of each piece, in the order that they were given in

  // Of the names, types and shapes: images with the same one can take each other's place.
  std::uint64_t layout_hash = 0;
};

struct ImagePiece {
  checkpoint::Piece piece;
  bool own = true;  // this rank writes it
};
base::Result<ImagePlan> plan_image(const std::vector<ImagePiece>& pieces);

// Parts are cut into chunks from their own beginning, as the manifest cuts files.
[[nodiscard]] std::vector<Range> chunks_of(const Range& own, const Range& rest);

}  // namespace headway::replica
