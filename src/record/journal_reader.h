// Reads one journal, dead or alive, as a stream of events (docs/formats/journal.md).
//
// The reader trusts nothing: whatever the bytes are it returns a Status or counts what it could not
// use, in bounded memory. It reads with pread, never through a mapping, so that a file truncated
// under it cannot raise SIGBUS. Times come out as real-time ns by the attempt's frozen anchor, and
// depend only on what precedes a record in its journal: reading live, late or twice gives the same
// events. Ids come out as those of the job's NameTable, which must outlive the reader.
//
// One thread at a time per reader, and per NameTable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "event/event.h"
#include "event/record.h"
#include "record/name_decoder.h"
#include "record/tick_map.h"

namespace headway::record {

class JournalReader final : public event::EventSource {
 public:
  static constexpr std::size_t batch_slots = 4096;
  // In a live journal an uncommitted slot is waited for until the writers are this far ahead of it;
  // then whoever reserved it must be dead (a killed child of a living rank).
  static constexpr std::uint64_t wait_slots_max = 1u << 20;

  static base::Result<std::unique_ptr<JournalReader>> open(const std::string& path,
                                                           event::NameTable& names);

  // The next events; empty when there are none now. In a live journal there may be more later.
  std::span<const event::Event> next() override;
  [[nodiscard]] const event::StreamInfo& info() const override { return info_; }
  // Complete once next() has returned empty after set_final().
  [[nodiscard]] event::StreamLoss loss() const override;

  // The writers are dead: what is uncommitted now is lost, and next() reads to the file's end.
  void set_final() { final_ = true; }

  [[nodiscard]] std::uint32_t writer_pid() const { return header_.pid; }
  [[nodiscard]] std::uint32_t local_rank() const { return header_.local_rank; }
  [[nodiscard]] const event::HeaderFields& header() const { return header_; }
  // True after an orderly hw_shutdown().
  [[nodiscard]] bool closed() {
    refresh_live();
    return live_.closed != 0;
  }
  // Slots consumed so far; the next one is at byte kHeaderBytes + slot * sizeof(Record).
  [[nodiscard]] std::uint64_t position() const { return slot_; }

 private:
  JournalReader(std::string path, base::UniqueFd fd, const event::HeaderFields& header,
                event::NameTable& names);

  void refresh_live();
  bool fill(std::size_t slots);
  bool read_again(event::Record& record);
  bool may_skip(std::uint64_t slot);
  std::size_t consume();
  void decode(const event::Record& record, event::EventType type);
  void count_damaged();
  void settle_uncommitted();
  void finish();

  std::string path_;
  base::UniqueFd fd_;
  event::HeaderFields header_;
  event::LiveFields live_{};
  event::StreamInfo info_;
  NameDecoder names_;
  TickMap ticks_;
  bool final_ = false;
  std::uint64_t slot_ = 0;
  std::uint64_t unproven_ = 0;  // uncommitted slots just before slot_: lost, or never used
  std::uint64_t unproven_first_ = 0;
  std::uint64_t first_damaged_ = 0;
  std::uint64_t first_uncommitted_ = 0;
  std::uint64_t tail_uncommitted_ = 0;  // found by finish()
  std::uint64_t missing_ = 0;           // reserved slots beyond the file's end
  bool live_damaged_ = false;
  event::StreamLoss counted_;
  std::vector<event::Record> buffer_;
  std::vector<event::Event> events_;
  std::size_t events_count_ = 0;
};

// All journals below a job's or an attempt's folder, sorted.
inline constexpr std::size_t journals_max = 1'000'000;
base::Result<std::vector<std::string>> list_journals(const std::string& dir);

}  // namespace headway::record
