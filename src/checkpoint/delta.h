// A delta: what changed since another checkpoint, its base (docs/formats/checkpoint.md). Its files
// are safetensors files with another suffix, so that nobody takes them for whole ones. In each, a
// table X of which only rows are there is two tensors, X.ids (I64, which rows of the whole X,
// rising) and X.rows; anything else is a tensor in full. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "checkpoint/manifest.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/tensor.h"

namespace headway::checkpoint {

inline constexpr std::string_view delta_suffix = ".delta";
inline constexpr std::string_view ids_suffix = ".ids";
inline constexpr std::string_view rows_suffix = ".rows";

// Of a checkpoint's files, those that hold tensors.
[[nodiscard]] bool has_tensors(const Manifest& manifest, const ManifestFile& file);

// The two pieces for some rows of `table`, which is a piece of a whole itself: `rows.offsets` say
// which columns they are of.
struct RowPieces {
  Piece ids;
  Piece rows;
};
[[nodiscard]] RowPieces row_pieces(const Piece& table, std::uint64_t count);

struct TableRows {
  std::string name;  // of the table
  StoredPiece ids;
  StoredPiece rows;
};
struct DeltaPieces {
  std::vector<StoredPiece> whole;
  std::vector<TableRows> tables;
};
base::Result<DeltaPieces> sort_delta(const std::vector<StoredPiece>& pieces,
                                     const std::string& path);

// Rising, and all below `rows`; the error names the table.
base::Status check_ids(std::span<const std::int64_t> ids, std::uint64_t rows,
                       const std::string& path, const std::string& table);

}  // namespace headway::checkpoint
