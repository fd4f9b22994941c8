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
#include "record/slot_reader.h"

namespace headway::record {

// A journal's file, and its header, which is sound.
struct OpenedJournal {
  base::UniqueFd fd;
  event::HeaderFields header;
};
base::Result<OpenedJournal> open_journal(const std::string& path);

class JournalReader final : public event::EventSource, private SlotDoubts {
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
  [[nodiscard]] event::StreamLoss loss() const override { return slots_.loss(live_, path_); }

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
  [[nodiscard]] std::uint64_t position() const { return slots_.position(); }

 private:
  JournalReader(std::string path, base::UniqueFd fd, const event::HeaderFields& header,
                event::NameTable& names);

  void refresh_live();
  bool fill(std::size_t slots);
  bool may_skip(std::uint64_t slot) override;
  bool read_again(std::uint64_t slot, event::Record& record) override;

  std::string path_;
  base::UniqueFd fd_;
  event::HeaderFields header_;
  event::LiveFields live_{};
  event::StreamInfo info_;
  SlotReader slots_;
  bool final_ = false;
  std::vector<event::Record> buffer_;
};

// All journals below a job's or an attempt's folder, sorted.
inline constexpr std::size_t journals_max = 1'000'000;
base::Result<std::vector<std::string>> list_journals(const std::string& dir);

}  // namespace headway::record
