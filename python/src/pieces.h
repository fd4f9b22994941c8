// Pieces of tensors as Python gives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "checkpoint/tensor.h"
#include "replica_module.h"

namespace headway::python {

// name, type, shape, offsets
using PieceTuple =
    std::tuple<std::string, std::string, std::vector<std::uint64_t>, std::vector<std::uint64_t>>;

inline checkpoint::Piece to_piece(const PieceTuple& given) {
  const auto& [name, dtype, shape, offsets] = given;
  const auto type = checkpoint::dtype_of(dtype);
  if (!type) throw CheckpointError(name + ": a tensor of type " + dtype + " cannot be saved");
  return {name, *type, shape, offsets};
}

inline std::vector<checkpoint::Piece> to_pieces(const std::vector<PieceTuple>& given) {
  std::vector<checkpoint::Piece> pieces;
  for (const PieceTuple& one : given) pieces.push_back(to_piece(one));
  return pieces;
}

inline std::vector<const std::byte*> to_sources(const std::vector<std::uintptr_t>& addresses) {
  std::vector<const std::byte*> sources;
  for (const std::uintptr_t address : addresses) {
    sources.push_back(reinterpret_cast<const std::byte*>(address));
  }
  return sources;
}

}  // namespace headway::python
