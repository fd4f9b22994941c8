#include "checkpoint/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "checkpoint/parts.h"

namespace headway::checkpoint {
namespace {

using base::Result;
using base::Status;

constexpr std::uint64_t kEndMax = (std::uint64_t{1} << 62);

struct Building {
  TensorInfo info;
  std::string first_file;  // for messages
};

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Status add_piece(const StoredPiece& stored, const FileHeader& from, const std::string& path,
                 std::map<std::string, Building>& table) {
  const Piece& piece = stored.piece;
  const auto bad = [&](const std::string& what) {
    return Status::corrupt(fmt::format("{}/{}: tensor {}: {}", path, from.name, piece.name, what));
  };
  for (std::size_t d = 0; d < piece.shape.size(); ++d) {
    if (piece.offsets[d] > kEndMax || piece.shape[d] > kEndMax - piece.offsets[d]) {
      return bad(fmt::format("a piece of {} at offsets {} is beyond any tensor",
                             shape_text(piece.shape), shape_text(piece.offsets)));
    }
  }
  const auto [it, is_new] = table.try_emplace(piece.name);
  TensorInfo& info = it->second.info;
  if (is_new) {
    info.name = piece.name;
    info.dtype = piece.dtype;
    info.shape.assign(piece.shape.size(), 0);
    it->second.first_file = from.name;
  }
  if (info.dtype != piece.dtype) {
    return bad(fmt::format("{} here, {} in {}", name_of(piece.dtype), name_of(info.dtype),
                           it->second.first_file));
  }
  if (info.shape.size() != piece.shape.size()) {
    return bad(fmt::format("{} dimensions here, {} in {}", piece.shape.size(), info.shape.size(),
                           it->second.first_file));
  }
  for (std::size_t d = 0; d < piece.shape.size(); ++d) {
    info.shape[d] = std::max(info.shape[d], piece.offsets[d] + piece.shape[d]);
  }
  info.pieces.push_back({{piece.offsets, piece.shape}, from.file, stored.begin});
  return {};
}

// Whole rows one behind the other, which is what nearly every tensor is: no need to plan.
bool covered_by_rows(const TensorInfo& info) {
  if (info.shape.empty()) return !info.pieces.empty();
  std::uint64_t end = 0;
  for (const TensorPiece& piece : info.pieces) {
    if (piece.box.offsets[0] > end) return false;
    for (std::size_t d = 1; d < info.shape.size(); ++d) {
      if (piece.box.shape[d] != info.shape[d]) return false;
    }
    end = std::max(end, piece.box.end(0));
  }
  return end == info.shape[0];
}

Status finish(TensorInfo& info, const std::string& path) {
  const auto bytes = bytes_of_shape(info.dtype, info.shape);
  if (!bytes) {
    return Status::corrupt(
        fmt::format("{}: tensor {}: its pieces make up {} of {}, which is too "
                    "large",
                    path, info.name, shape_text(info.shape), name_of(info.dtype)));
  }
  info.bytes = *bytes;
  std::stable_sort(
      info.pieces.begin(), info.pieces.end(),
      [](const TensorPiece& a, const TensorPiece& b) { return a.box.offsets < b.box.offsets; });
  if (covered_by_rows(info)) return {};
  std::vector<Box> boxes;
  for (const TensorPiece& piece : info.pieces) boxes.push_back(piece.box);
  const auto portions = plan_portions(whole_box(info.shape), boxes);
  if (portions.ok()) return {};
  return Status(portions.status().code(),
                fmt::format("{}: tensor {}: {}", path, info.name, portions.status().message()));
}

}  // namespace

Result<std::vector<TensorInfo>> make_table(const std::vector<FileHeader>& headers,
                                           const std::string& path) {
  std::map<std::string, Building> building;
  std::size_t pieces = 0;
  for (const FileHeader& from : headers) {
    pieces += from.header.pieces.size();
    if (pieces > table_pieces_max) {
      return Status::corrupt(
          fmt::format("{}: more than {} pieces of tensors", path, table_pieces_max));
    }
    for (const StoredPiece& stored : from.header.pieces) {
      if (Status status = add_piece(stored, from, path, building); !status.ok()) return status;
    }
  }
  std::vector<TensorInfo> table;
  table.reserve(building.size());
  for (auto& [name, each] : building) {
    if (Status status = finish(each.info, path); !status.ok()) return status;
    table.push_back(std::move(each.info));
  }
  return table;
}

}  // namespace headway::checkpoint
