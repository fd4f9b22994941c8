// The bytes of a cache archive (.hwc), as docs/formats/cache-archive.md tells them:
//
//   head | blocks | binding | index | seal
//
// All numbers are little-endian. Nothing here is trusted until front.h has checked it. Limits are
// those of a reader; a writer keeps them too. Plain data.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace headway::cache {

static_assert(std::endian::native == std::endian::little, "records are copied as they lie");

inline constexpr std::array<std::uint8_t, 8> archive_magic = {0x89, 'H', 'W', 'C', 13, 10, 26, 10};
inline constexpr std::uint32_t archive_version = 2;
inline constexpr std::uint32_t archive_version_min = 1;  // had no kind "blob", else the same

struct HeadRecord {
  std::array<std::uint8_t, 8> magic;
  std::uint32_t version;
  std::uint32_t flags;  // none is known yet
  std::uint64_t blocks_bytes;
  std::uint64_t index_bytes;
  std::uint32_t binding_bytes;
  std::array<std::uint8_t, 28> zero;
};
static_assert(sizeof(HeadRecord) == 64 && std::is_trivially_copyable_v<HeadRecord>);
static_assert(offsetof(HeadRecord, blocks_bytes) == 16 && offsetof(HeadRecord, zero) == 36);

struct IndexHeadRecord {
  std::uint32_t blocks;
  std::uint32_t contents;
  std::uint32_t entries;
  std::uint32_t text_bytes;
};
static_assert(sizeof(IndexHeadRecord) == 16 && std::is_trivially_copyable_v<IndexHeadRecord>);

struct BlockRecord {
  std::array<std::uint8_t, 32> sha256;  // of the bytes as they are stored
  std::uint32_t stored_bytes;
  std::uint32_t raw_bytes;  // as many: they are stored as they are, else one zstd frame
};
static_assert(sizeof(BlockRecord) == 40 && std::is_trivially_copyable_v<BlockRecord>);

struct ContentRecord {
  std::array<std::uint8_t, 32> sha256;
  std::uint64_t bytes;
};
static_assert(sizeof(ContentRecord) == 40 && std::is_trivially_copyable_v<ContentRecord>);

struct EntryRecord {
  std::int64_t time_ns;   // real time, when it was packed
  std::uint32_t content;  // which of the contents
  std::uint16_t path_bytes;
  std::uint16_t key_bytes;
  std::uint8_t kind;   // kind.h
  std::uint8_t flags;  // entry_executable, entry_relocated
  std::array<std::uint8_t, 6> zero;
};
static_assert(sizeof(EntryRecord) == 24 && std::is_trivially_copyable_v<EntryRecord>);
inline constexpr std::uint8_t entry_executable = 1;
inline constexpr std::uint8_t entry_relocated = 2;  // relocate.h

struct SealRecord {
  std::array<std::uint8_t, 32> public_key;  // Ed25519; zeros: not signed
  std::array<std::uint8_t, 32> digest;      // SHA-256 of head, binding, index and public key
  std::array<std::uint8_t, 64> signature;   // zeros: not signed
};
static_assert(sizeof(SealRecord) == 128 && std::is_trivially_copyable_v<SealRecord>);

inline constexpr std::uint64_t archive_bytes_max = 64ULL << 30;
inline constexpr std::uint64_t raw_bytes_max = 256ULL << 30;  // of all contents
inline constexpr std::uint64_t content_bytes_max = 2ULL << 30;
inline constexpr std::uint32_t entries_max = 1'000'000;
inline constexpr std::uint32_t blocks_max = 1'000'000;
inline constexpr std::uint64_t index_bytes_max = 512ULL << 20;
inline constexpr std::uint32_t binding_bytes_max = 64 << 10;
inline constexpr std::uint32_t block_raw_bytes_max = 16U << 20;
inline constexpr std::uint32_t block_raw_bytes = 4U << 20;  // what a writer makes
// A block that would shrink by more is stored as it is: a reader takes more for a bomb.
inline constexpr std::uint64_t block_ratio_max = 1000;
inline constexpr std::size_t path_bytes_max = 512;
inline constexpr std::size_t path_depth_max = 6;
inline constexpr std::size_t name_bytes_max = 255;  // of a part of a path: what Linux takes
inline constexpr std::size_t key_bytes_max = 4096;

}  // namespace headway::cache
