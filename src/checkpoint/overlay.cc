#include "checkpoint/overlay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace headway::checkpoint {
namespace {

using base::Status;

constexpr std::uint64_t kReadBytes = 8 << 20;

// The part of the table that row `id` of the delta is.
Box row_box(const Piece& rows, std::uint64_t id) {
  Box box{rows.offsets, rows.shape};
  box.offsets[0] = id;
  box.shape[0] = 1;
  return box;
}

}  // namespace

Status check_overlay(const Overlay& overlay, const TensorInfo& table, const std::string& path) {
  const Piece& rows = overlay.rows.rows.piece;
  bool fits = rows.dtype == table.dtype && rows.shape.size() == table.shape.size() &&
              rows.shape[0] <= table.shape[0];
  for (std::size_t d = 1; fits && d < rows.shape.size(); ++d) {
    fits = rows.offsets[d] <= table.shape[d] && rows.shape[d] <= table.shape[d] - rows.offsets[d];
  }
  if (fits) return {};
  return Status::corrupt(fmt::format("{}: rows of {} that do not fit to it", path, table.name));
}

Status put_rows(ChunkReader& reader, const Overlay& overlay, const TensorInfo& table,
                const Box& box, std::span<std::byte> into, const std::string& path) {
  const StoredPiece& stored = overlay.rows.rows;
  const std::uint64_t count = stored.piece.shape[0];
  if (count == 0 || stored.begin == stored.end || box.empty()) return {};
  std::vector<std::int64_t> ids(count);
  Status status = reader.read(overlay.rows.ids.begin, std::as_writable_bytes(std::span(ids)),
                              overlay.rows.ids.end);
  if (status.ok()) status = check_ids(ids, table.shape[0], path, table.name);
  if (!status.ok()) return status;
  const auto first =
      std::lower_bound(ids.begin(), ids.end(), static_cast<std::int64_t>(box.offsets[0]));
  const auto last = std::lower_bound(first, ids.end(), static_cast<std::int64_t>(box.end(0)));
  const std::uint64_t row_bytes = (stored.end - stored.begin) / count;
  const std::size_t element = element_bytes(table.dtype);
  const std::uint64_t batch = std::max<std::uint64_t>(1, kReadBytes / row_bytes);
  std::vector<std::byte> memory;
  auto at = static_cast<std::uint64_t>(first - ids.begin());
  const auto end = static_cast<std::uint64_t>(last - ids.begin());
  while (at < end) {
    const std::uint64_t rows = std::min(batch, end - at);
    memory.resize(rows * row_bytes);
    status = reader.read(stored.begin + at * row_bytes, memory, stored.begin + end * row_bytes);
    if (!status.ok()) return status;
    for (std::uint64_t i = 0; i < rows; ++i) {
      const Box piece = row_box(stored.piece, static_cast<std::uint64_t>(ids[at + i]));
      const auto part = common_part(piece, box);
      if (!part) continue;
      each_run(*part, piece, box, element,
               [&](std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
                 std::memcpy(into.data() + to, memory.data() + i * row_bytes + from, bytes);
               });
    }
    at += rows;
  }
  return {};
}

}  // namespace headway::checkpoint
