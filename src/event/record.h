// The journal's bytes: who writes what, when, and what a reader may assume.
//
// A journal is one file: a 4096-byte header, then slots of 32 bytes. One recorder process creates
// it (write to a temporary name, rename when the header is whole); that process, its threads and
// its forked children write slots; anybody may read at any time, the file being mapped shared.
//
//   reserve  slot = header.cursor, moved on by compare-and-swap, only while it is below
//            header.limit; else the record is dropped and header.dropped increased. So no slot is
//            ever reserved and then given up, and a slot belongs to its reserver for ever. (A
//            fetch_add would leave holes behind each time the limit is reached and later raised.)
//   write    t, a, b, name, lane: plain stores.
//   commit   `commit` = type | check << 8, one 32-bit store with release order.
//
// A reader takes slots in order. commit == 0 means "not (yet) committed": in a live journal wait,
// in a dead one count it as lost and go on. A slot whose check does not fit its content was either
// read while it was being written (read it once more) or is damaged: count it and go on. `limit`
// only grows, after the bytes behind it have been allocated on disk, so no store can raise SIGBUS
// for want of space. An orderly end sets kSealedBit in the cursor, which puts it above any limit:
// nothing can be reserved from then on, and the file is cut to its last slot. Little-endian.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "event/vocabulary.h"

namespace headway::event {

inline constexpr char kJournalMagic[8] = {'H', 'W', 'J', 'O', 'U', 'R', 'N', '1'};
inline constexpr std::uint32_t kJournalVersion = 1;
inline constexpr std::size_t kHeaderBytes = 4096;
inline constexpr std::size_t kNameBytesPerRecord = 24;
inline constexpr std::size_t kNameBytesMax = 480;  // 20 records; longer names are cut

enum class ClockKind : std::uint32_t { monotonic_ns = 0, tsc = 1 };

struct Record {
  std::uint64_t t;  // ticks of the header's clock
  std::int64_t a;
  std::int64_t b;
  std::uint16_t name;
  std::uint16_t lane;
  std::uint32_t commit;  // type in the low byte, check in the upper 24 bits
};
static_assert(sizeof(Record) == 32);

// The constant part of the header: written once by the creator, before the file has its name.
struct HeaderFields {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;  // kHeaderBytes
  std::uint32_t record_bytes;  // sizeof(Record)
  std::uint32_t clock_kind;
  std::uint64_t attempt;
  std::uint32_t rank;
  std::uint32_t local_rank;
  std::uint32_t world_size;
  std::uint32_t pid;
  std::uint64_t clock_hz;      // ticks per second, as well as it was known at creation
  std::uint64_t anchor_ticks;  // one instant, in three clocks
  std::int64_t anchor_monotonic_ns;
  std::int64_t anchor_real_ns;  // frozen for the attempt where the launcher gave one
  std::uint8_t boot_id[16];
  char job[256];  // NUL-terminated UTF-8
  char host[128];
  std::uint64_t slots_max;      // no limit is ever above this
  std::uint32_t header_crc32c;  // of all the bytes above
  std::uint32_t pid_namespace;  // that `pid` is a number of; 0: unknown
};
static_assert(sizeof(HeaderFields) == 496);
static_assert(offsetof(HeaderFields, header_crc32c) == 488);

// The moving part, shared by every process that writes. `LiveFields` below is one reading of it.
struct JournalHeader {
  HeaderFields fixed;
  alignas(64) std::atomic<std::uint64_t> cursor;  // next slot to reserve; kSealedBit: closed
  std::atomic<std::uint64_t> next_name;           // next id to give to a name
  std::atomic<std::uint64_t> next_lane;           // next lane to give to a thread
  std::atomic<std::uint64_t> forks;               // children that may be writing
  alignas(64) std::atomic<std::uint64_t> limit;   // slots that may be written
  alignas(64) std::atomic<std::uint64_t> dropped;
  std::atomic<std::uint64_t> names_dropped;
  std::atomic<std::uint32_t> closed;  // 1 after an orderly shutdown of the creator
};
inline constexpr std::uint64_t kSealedBit = 1ull << 63;
static_assert(sizeof(JournalHeader) <= kHeaderBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(sizeof(std::atomic<std::uint64_t>) == 8 && sizeof(std::atomic<std::uint32_t>) == 4);

// What a reader sees of the moving part, byte for byte from kLiveOffset on.
struct LiveFields {
  std::uint64_t cursor;
  std::uint64_t next_name;
  std::uint64_t next_lane;
  std::uint64_t forks;
  std::uint64_t pad1[4];
  std::uint64_t limit;
  std::uint64_t pad2[7];
  std::uint64_t dropped;
  std::uint64_t names_dropped;
  std::uint32_t closed;
  std::uint32_t pad3;
};
inline constexpr std::size_t kLiveOffset = 512;
static_assert(offsetof(JournalHeader, cursor) == kLiveOffset);
static_assert(offsetof(JournalHeader, forks) == kLiveOffset + offsetof(LiveFields, forks));
static_assert(offsetof(JournalHeader, limit) == kLiveOffset + offsetof(LiveFields, limit));
static_assert(offsetof(JournalHeader, dropped) == kLiveOffset + offsetof(LiveFields, dropped));
static_assert(offsetof(JournalHeader, closed) == kLiveOffset + offsetof(LiveFields, closed));

// A name's text lies in consecutive slots, reserved together: name = its id, lane = this part's
// index | number of parts << 8, and t, a, b hold 24 bytes of text, the last part padded with NUL.
// An id below kUserFirst is a built-in phase's, kUserFirst itself is "~other" (never written).
inline constexpr std::uint16_t kOtherNameId = HW_PHASE_USER_FIRST;
inline constexpr std::uint32_t name_parts_max = kNameBytesMax / kNameBytesPerRecord;
[[nodiscard]] constexpr std::uint16_t name_part_lane(std::uint32_t part, std::uint32_t parts) {
  return static_cast<std::uint16_t>(part | (parts << 8));
}

// 24 bits over everything a record says. Multiplications by odd constants, each word by its own, so
// that swapped or zeroed words show. Not cryptographic: it finds damage, not malice.
[[nodiscard]] constexpr std::uint32_t record_check(std::uint64_t t, std::int64_t a, std::int64_t b,
                                                   std::uint16_t name, std::uint16_t lane,
                                                   EventType type) {
  const std::uint64_t meta = (static_cast<std::uint64_t>(name) << 32) |
                             (static_cast<std::uint64_t>(lane) << 8) |
                             static_cast<std::uint64_t>(type);
  std::uint64_t h = t * 0x9E3779B97F4A7C15ull;
  h ^= (static_cast<std::uint64_t>(a) + 0x632BE59BD9B4E019ull) * 0xC2B2AE3D27D4EB4Full;
  h ^= (static_cast<std::uint64_t>(b) + 0x2545F4914F6CDD1Dull) * 0x165667B19E3779F9ull;
  h ^= (meta + 0x9E6C63D0876A9A47ull) * 0xD6E8FEB86659FD93ull;
  h ^= h >> 32;  // brings the high bits down, so that the last product spreads every bit upwards
  return static_cast<std::uint32_t>((h * 0x9E3779B97F4A7C15ull) >> 40);
}

[[nodiscard]] constexpr std::uint32_t commit_word(std::uint32_t check, EventType type) {
  return (check << 8) | static_cast<std::uint32_t>(type);
}

[[nodiscard]] constexpr EventType type_of(const Record& record) {
  return static_cast<EventType>(record.commit & 0xFF);
}
// Whether a committed record is as it was written.
[[nodiscard]] constexpr bool is_sound(const Record& record) {
  return record_check(record.t, record.a, record.b, record.name, record.lane, type_of(record)) ==
         record.commit >> 8;
}

}  // namespace headway::event
