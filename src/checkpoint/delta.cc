#include "checkpoint/delta.h"

#include <fmt/format.h>

#include <map>

namespace headway::checkpoint {

using base::Result;
using base::Status;

bool has_tensors(const Manifest& manifest, const ManifestFile& file) {
  return file.name.ends_with(manifest.base.empty() ? ".safetensors" : delta_suffix);
}

RowPieces row_pieces(const Piece& table, std::uint64_t count) {
  RowPieces pieces{table, table};
  pieces.ids.name += ids_suffix;
  pieces.ids.dtype = DType::i64;
  pieces.ids.shape = {count};
  pieces.ids.offsets = {0};
  pieces.rows.name += rows_suffix;
  pieces.rows.shape[0] = count;
  pieces.rows.offsets[0] = 0;
  return pieces;
}

Result<DeltaPieces> sort_delta(const std::vector<StoredPiece>& pieces, const std::string& path) {
  std::map<std::string_view, const StoredPiece*> by_name;
  for (const StoredPiece& piece : pieces) by_name[piece.piece.name] = &piece;
  DeltaPieces sorted;
  const auto partner = [&](std::string_view name, std::string_view own, std::string_view other) {
    if (!name.ends_with(own)) return by_name.end();
    return by_name.find(std::string(name.substr(0, name.size() - own.size())) + std::string(other));
  };
  for (const StoredPiece& piece : pieces) {
    const std::string& name = piece.piece.name;
    const auto rows = partner(name, ids_suffix, rows_suffix);
    if (rows == by_name.end()) {
      if (partner(name, rows_suffix, ids_suffix) == by_name.end()) sorted.whole.push_back(piece);
      continue;
    }
    const Piece& ids = piece.piece;
    const Piece& values = rows->second->piece;
    const bool good = ids.dtype == DType::i64 && ids.shape.size() == 1 && !values.shape.empty() &&
                      values.shape[0] == ids.shape[0] && values.offsets[0] == 0;
    const std::string table = name.substr(0, name.size() - ids_suffix.size());
    if (!good) {
      return Status::corrupt(
          fmt::format("{}: table {}: its ids do not fit to its rows", path, table));
    }
    sorted.tables.push_back({table, piece, *rows->second});
  }
  return sorted;
}

Status check_ids(std::span<const std::int64_t> ids, std::uint64_t rows, const std::string& path,
                 const std::string& table) {
  std::int64_t last = -1;
  for (const std::int64_t id : ids) {
    if (id <= last || static_cast<std::uint64_t>(id) >= rows) {
      return Status::corrupt(fmt::format("{}: table {} of {} rows: row {} behind row {}", path,
                                         table, rows, id, last));
    }
    last = id;
  }
  return {};
}

}  // namespace headway::checkpoint
