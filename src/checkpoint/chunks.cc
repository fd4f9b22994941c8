#include "checkpoint/chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/crc32c.h"

namespace headway::checkpoint {
namespace {

using base::Result;
using base::Status;

constexpr std::uint64_t kBlockBytes = 4 << 20;  // where no checksum asks for another size

std::uint64_t end_of_chunk(const ManifestFile& entry, std::size_t chunk) {
  return std::min(entry.bytes, (chunk + 1) * entry.chunk_bytes);
}

bool is_aligned(const std::byte* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % base::direct_alignment == 0;
}

}  // namespace

std::string damage_text(const std::string& path, const ManifestFile& entry, std::size_t chunk) {
  return fmt::format("{}: chunk {}, bytes {} to {}, is damaged", path, chunk,
                     chunk * entry.chunk_bytes, end_of_chunk(entry, chunk));
}

Result<std::unique_ptr<ChunkReader>> ChunkReader::open(base::FileSystem& files,
                                                       const std::string& folder,
                                                       const ManifestFile& entry, How how) {
  std::string path = folder + "/" + entry.name;
  auto file = how.direct ? files.open_direct(path) : files.open(path);
  if (!file.ok()) return file.status();
  if ((*file)->bytes() != entry.bytes) {
    return Status::corrupt(
        fmt::format("{}: {} bytes, its manifest says {}", path, (*file)->bytes(), entry.bytes));
  }
  return std::unique_ptr<ChunkReader>(
      new ChunkReader(std::move(*file), std::move(path), entry, how));
}

Status ChunkReader::check(std::size_t index, std::span<const std::byte> content) const {
  if (!how_.verify || base::crc32c(content.data(), content.size()) == entry_.crc32c[index])
    return {};
  return Status::corrupt(damage_text(path_, entry_, index));
}

Status ChunkReader::fill(std::uint64_t from, std::uint64_t end) {
  window_begin_ = window_end_ = 0;  // whatever happens, nothing half-read is handed out
  const auto into = window_.take(static_cast<std::size_t>(end - from));
  if (Status status = file_->read(from, into); !status.ok()) return status;
  window_begin_ = from;
  window_end_ = end;
  return {};
}

Status ChunkReader::read(std::uint64_t from, std::span<std::byte> into, std::uint64_t soon_end) {
  HW_CHECK(from <= entry_.bytes && into.size() <= entry_.bytes - from);
  while (!into.empty()) {
    if (from >= window_begin_ && from < window_end_) {
      const auto bytes =
          static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), window_end_ - from));
      std::memcpy(into.data(), window_.data() + (from - window_begin_), bytes);
      from += bytes;
      into = into.subspan(bytes);
      continue;
    }
    // What fills the caller's memory goes there without a detour; but past the page cache only
    // aligned memory can be filled, and a detour costs less than the cache.
    const auto index = static_cast<std::size_t>(from / entry_.chunk_bytes);
    const std::uint64_t begin = index * entry_.chunk_bytes, end = end_of_chunk(entry_, index);
    const bool fills =
        how_.verify ? from == begin && into.size() >= end - begin : into.size() >= kBlockBytes;
    const bool straight = fills && (!how_.direct || is_aligned(into.data()));
    if (straight) {
      const auto bytes = how_.verify ? static_cast<std::size_t>(end - begin) : into.size();
      const auto part = into.first(bytes);
      if (Status status = file_->read(from, part); !status.ok()) return status;
      if (Status status = check(index, part); !status.ok()) return status;
      from += bytes;
      into = into.subspan(bytes);
      continue;
    }
    if (how_.verify) {
      auto whole = chunk(index);
      if (!whole.ok()) return whole.status();
    } else {
      const std::uint64_t least = from + std::min<std::uint64_t>(into.size(), kBlockBytes);
      const std::uint64_t most = std::min(entry_.bytes, from + kBlockBytes);
      const std::uint64_t until = std::clamp(soon_end, least, std::max(least, most));
      if (Status status = fill(from, until); !status.ok()) return status;
    }
  }
  return {};
}

Result<std::span<const std::byte>> ChunkReader::chunk(std::size_t index) {
  HW_CHECK(index < entry_.crc32c.size());
  const std::uint64_t begin = index * entry_.chunk_bytes, end = end_of_chunk(entry_, index);
  if (Status status = fill(begin, end); !status.ok()) return status;
  const std::span<const std::byte> content(window_.data(), static_cast<std::size_t>(end - begin));
  if (Status status = check(index, content); !status.ok()) {
    window_begin_ = window_end_ = 0;
    return status;
  }
  return content;
}

}  // namespace headway::checkpoint
