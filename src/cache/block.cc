#include "cache/block.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "base/check.h"
#include "base/hash.h"

namespace headway::cache {
namespace {

using base::Status;

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Made once a thread: it costs as much as a small block.
ZSTD_CCtx* compressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(ZSTD_createCCtx());
  HW_CHECK(context != nullptr);
  return context.get();
}
ZSTD_DCtx* decompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeDecompressor> context(ZSTD_createDCtx());
  HW_CHECK(context != nullptr);
  return context.get();
}

}  // namespace

PackedBlock pack_block(std::span<const std::byte> raw) {
  HW_CHECK(!raw.empty() && raw.size() <= block_raw_bytes_max);
  // Written to again and again: a fresh one would cost as much as a good part of the work.
  thread_local std::vector<std::byte> squeezed;
  const std::size_t bound = ZSTD_compressBound(raw.size());
  if (squeezed.size() < bound) squeezed.resize(bound);
  const std::size_t bytes = ZSTD_compressCCtx(compressor(), squeezed.data(), squeezed.size(),
                                              raw.data(), raw.size(), zstd_level);
  HW_CHECK(ZSTD_isError(bytes) == 0);
  const bool smaller = bytes < raw.size() && raw.size() <= bytes * block_ratio_max;
  const auto stored = smaller ? std::span<const std::byte>(squeezed).first(bytes) : raw;
  PackedBlock block;
  block.stored.assign(stored.begin(), stored.end());
  block.record.sha256 = base::sha256(block.stored);
  block.record.stored_bytes = static_cast<std::uint32_t>(block.stored.size());
  block.record.raw_bytes = static_cast<std::uint32_t>(raw.size());
  return block;
}

Status check_block(const BlockRecord& record, std::span<const std::byte> stored,
                   const std::string& path) {
  HW_CHECK(stored.size() == record.stored_bytes);
  if (base::sha256(stored) == record.sha256) return {};
  return Status::corrupt(path + ": a block is damaged; take another copy of the archive");
}

Status unpack_block(const BlockRecord& record, std::span<const std::byte> stored,
                    std::span<std::byte> into, const std::string& path) {
  HW_CHECK(into.size() == record.raw_bytes);
  if (Status status = check_block(record, stored, path); !status.ok()) return status;
  if (stored.size() == into.size()) {
    std::ranges::copy(stored, into.begin());
    return {};
  }
  const std::size_t bytes =
      ZSTD_decompressDCtx(decompressor(), into.data(), into.size(), stored.data(), stored.size());
  if (ZSTD_isError(bytes) == 0 && bytes == into.size()) return {};
  return Status::corrupt(
      fmt::format("{}: a block does not unpack to the {} bytes that the index tells ({})", path,
                  into.size(), ZSTD_isError(bytes) != 0 ? ZSTD_getErrorName(bytes) : "fewer"));
}

}  // namespace headway::cache
