// The beginning of a safetensors file: eight bytes of length and a JSON header that says where in
// the file each tensor lies. With PyTorch's own notes (DCP_SHARDING_INFO) of which part of a tensor
// a piece is, so that torch.distributed.checkpoint reads the files without us. No pickle, and
// nothing that a reader has to trust: every number is checked. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "checkpoint/tensor.h"

namespace headway::checkpoint {

inline constexpr std::uint64_t safetensors_header_bytes_max = 100'000'000;  // the format's own

struct StoredPiece {
  Piece piece;
  std::uint64_t begin = 0;  // in the file
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<StoredPiece> pieces;  // in the order of the file
  std::map<std::string, std::string> metadata;
  std::uint64_t data_begin = 0;
  std::uint64_t file_bytes = 0;
};

// The header's bytes, padded with spaces so that the data begin at a multiple of `alignment`, and
// where each piece goes. Pieces whose size is a multiple of much come first, so that each lies at a
// multiple of its element's size, and most at one of a cache line. Names must differ.
struct SafetensorsPlan {
  std::string head;
  SafetensorsHeader header;
};
base::Result<SafetensorsPlan> plan_safetensors(const std::vector<Piece>& pieces,
                                               std::uint64_t alignment);

// How many bytes at the front of a file hold the header, from its first eight.
base::Result<std::uint64_t> safetensors_head_bytes(std::string_view first_eight,
                                                   std::uint64_t file_bytes,
                                                   const std::string& path);
// `head`: those bytes. Errors name `path`.
base::Result<SafetensorsHeader> parse_safetensors(std::string_view head, std::uint64_t file_bytes,
                                                  const std::string& path);

}  // namespace headway::checkpoint
