// One ingest batch: made by a sender, taken apart by a receiver that trusts nothing of it. The
// bytes are in format.h. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "event/record.h"
#include "ingest/format.h"

namespace headway::ingest {

[[nodiscard]] JournalId journal_id(const event::HeaderFields& header);

// Collects slots until they are sent.
class BatchWriter {
 public:
  // `name`: the journal's file, cut where it is too long.
  void add_head(const event::HeaderFields& header, std::string_view name);
  // `slots` as many as `record` says, and room for them.
  void add_chunk(const ChunkRecord& record, std::span<const event::Record> slots);

  [[nodiscard]] std::size_t slots() const { return slots_.size(); }
  [[nodiscard]] std::size_t slots_left() const { return slots_max - slots_.size(); }
  [[nodiscard]] bool full() const {
    return slots_.size() >= slots_max || chunks_.size() >= chunks_max || heads_.size() >= heads_max;
  }
  [[nodiscard]] bool empty() const { return chunks_.empty(); }
  [[nodiscard]] const std::vector<ChunkRecord>& chunks() const { return chunks_; }

  [[nodiscard]] std::vector<std::byte> finish(std::int64_t sent_real_ns) const;

 private:
  std::vector<HeadRecord> heads_;
  std::vector<ChunkRecord> chunks_;
  std::vector<event::Record> slots_;
};

// A batch as it came. The spans are of the caller's bytes.
struct Batch {
  BatchHeader header;
  std::vector<HeadRecord> heads;  // each of them sound, and of one job and attempt
  std::vector<ChunkRecord> chunks;
  std::span<const std::byte> packed;  // the slots' frame

  // Only checksums and numbers are looked at; the slots are unpacked by unpack_slots(). `what`
  // begins the messages.
  static base::Result<Batch> parse(std::span<const std::byte> bytes, const std::string& what);
};

// The slots of all chunks, one after the other: exactly `slots` of them.
base::Status unpack_slots(std::span<const std::byte> packed, std::uint64_t slots,
                          std::vector<event::Record>& into, const std::string& what);

// The memory that a batch's slots would take when unpacked, by what its header says: at most what
// is ever unpacked of one. 0: parse() will refuse it. Cheap; nothing is checked.
[[nodiscard]] std::size_t unpacked_bytes_told(std::span<const std::byte> bytes);

// What a chunk says of the journal's header.
[[nodiscard]] event::LiveFields live_fields(const ChunkRecord& chunk);

}  // namespace headway::ingest
