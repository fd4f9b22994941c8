// The bytes of an ingest batch (docs/formats/ingest.md): what an agent posts to a collector, and
// what a collector keeps. Little-endian.
//
//   BatchHeader      64 bytes, checksummed
//   HeadRecord ×     one for each journal that the receiver may not know yet
//   ChunkRecord ×    whose slots follow, in the same order
//   slots            one zstd frame of all of them, 32 bytes a slot, as the journal has them
//
// All chunks of a batch are of one job and one attempt. Pure data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "event/record.h"

namespace headway::ingest {

inline constexpr char kBatchMagic[8] = {'H', 'W', 'B', 'A', 'T', 'C', 'H', '1'};
inline constexpr std::uint32_t kBatchVersion = 1;

// A receiver refuses more; a sender cuts before.
inline constexpr std::uint32_t chunks_max = 8192;
inline constexpr std::uint32_t heads_max = 1024;
inline constexpr std::uint64_t slots_max = 1u << 18;  // 8 MiB of a batch, unpacked
inline constexpr std::uint64_t batch_bytes_max = 12u << 20;

// What tells a journal from every other: the first bytes of the SHA-256 of its header's constant
// part, which holds host, boot, process and clock.
using JournalId = std::array<std::uint8_t, 16>;

struct BatchHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;  // sizeof(BatchHeader)
  std::uint32_t heads;
  std::uint32_t chunks;
  std::uint64_t slots;          // of all chunks
  std::uint64_t packed_bytes;   // of the zstd frame, which ends the batch
  std::int64_t sent_real_ns;    // by the sender's clock
  std::uint32_t body_crc32c;    // of all that follows the header
  std::uint32_t reserved;       // 0
  std::uint32_t reserved2;      // 0
  std::uint32_t header_crc32c;  // of all the bytes above
};
static_assert(sizeof(BatchHeader) == 64);
static_assert(offsetof(BatchHeader, header_crc32c) == 60);

struct HeadRecord {
  event::HeaderFields journal;
  char name[144];  // of the file, below the attempt's folder; NUL-terminated
};
static_assert(sizeof(HeadRecord) == 640);

inline constexpr std::uint32_t kChunkFinal = 1;   // the writers are dead: nothing will follow
inline constexpr std::uint32_t kChunkClosed = 2;  // after an orderly shutdown

struct ChunkRecord {
  JournalId journal;
  std::uint64_t first_slot;
  std::uint32_t slots;  // may be 0: only the fields below are news
  std::uint32_t flags;
  std::uint64_t cursor;  // of the journal's header, when it was read
  std::uint64_t limit;
  std::uint64_t dropped;
  std::uint64_t names_dropped;
};
static_assert(sizeof(ChunkRecord) == 64);

}  // namespace headway::ingest
