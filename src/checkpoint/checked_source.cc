#include "checkpoint/checked_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/crc32c.h"

namespace headway::checkpoint {

using base::Result;
using base::Status;

Status damaged(const std::string& path, const ManifestFile& entry, std::uint64_t chunk) {
  const std::uint64_t begin = chunk * entry.chunk_bytes;
  return Status::corrupt(fmt::format("{}: damaged between bytes {} and {}", path, begin,
                                     begin + std::min(entry.chunk_bytes, entry.bytes - begin)));
}

std::optional<std::uint64_t> ChunkCheck::add(const ManifestFile& entry,
                                             std::span<const std::byte> data) {
  while (!data.empty()) {
    const std::uint64_t chunk = at_ / entry.chunk_bytes;
    const std::uint64_t in_chunk = at_ % entry.chunk_bytes;
    const std::size_t piece = std::min<std::uint64_t>(data.size(), entry.chunk_bytes - in_chunk);
    crc_ = base::crc32c(data.data(), piece, in_chunk == 0 ? 0 : crc_);
    at_ += piece;
    data = data.subspan(piece);
    const bool ended = in_chunk + piece == entry.chunk_bytes || at_ == entry.bytes;
    if (chunk >= entry.crc32c.size() || (ended && crc_ != entry.crc32c[chunk])) return chunk;
  }
  return std::nullopt;
}

Result<std::span<const std::byte>> CheckedSource::read(std::uint64_t offset, std::uint64_t size,
                                                       std::vector<std::byte>& buffer) {
  if (entry_.chunk_bytes > checked_chunk_bytes_max || size == 0) {
    return file_.read(offset, size, buffer);
  }
  // Whole chunks, of which the part may be the middle.
  const std::uint64_t first = offset / entry_.chunk_bytes;
  const std::uint64_t begin = first * entry_.chunk_bytes;
  const std::uint64_t chunks_end =
      ((offset + size - 1) / entry_.chunk_bytes + 1) * entry_.chunk_bytes;
  const std::uint64_t end = std::min(entry_.bytes, chunks_end);
  auto data = file_.read(begin, end - begin, buffer);
  if (!data.ok()) return data.status();
  for (std::uint64_t chunk = first; chunk * entry_.chunk_bytes < end; ++chunk) {
    const auto rest = data->subspan(chunk * entry_.chunk_bytes - begin);
    const std::size_t bytes = std::min<std::uint64_t>(rest.size(), entry_.chunk_bytes);
    if (base::crc32c(rest.data(), bytes) != entry_.crc32c[chunk]) {
      return damaged(path_, entry_, chunk);
    }
  }
  return data->subspan(offset - begin, size);
}

}  // namespace headway::checkpoint
