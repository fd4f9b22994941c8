// The whole tensors that the pieces in a checkpoint's files make up. Pieces that contradict each
// other, and elements that no piece has, are errors: a lost shard must not pass for old values.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/reshard.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/tensor.h"

namespace headway::checkpoint {

inline constexpr std::size_t table_pieces_max = 20'000'000;  // of a checkpoint

struct TensorPiece {
  Box box;                  // in the whole
  std::size_t file = 0;     // index into the manifest's files
  std::uint64_t begin = 0;  // in that file
};

struct TensorInfo {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::uint64_t> shape;
  std::uint64_t bytes = 0;          // of the whole, each element once
  std::vector<TensorPiece> pieces;  // by offsets; the same part may be there several times
};

struct FileHeader {
  std::size_t file = 0;
  std::string name;
  SafetensorsHeader header;
};
// Sorted by name. Errors name `path`, the tensor and the part.
base::Result<std::vector<TensorInfo>> make_table(const std::vector<FileHeader>& headers,
                                                 const std::string& path);

}  // namespace headway::checkpoint
