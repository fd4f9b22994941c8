// A journal's slots, in their order, whoever delivers them → events, and what of them was lost.
// What a slot says (docs/formats/journal.md) is known here and nowhere else: the reader of a file
// and the collector that gets slots by the network see the same events.
//
// Trusts nothing but the header. Pure; one thread at a time per reader, and per NameTable, which
// must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "event/event.h"
#include "event/record.h"
#include "record/name_decoder.h"
#include "record/tick_map.h"

namespace headway::record {

// What somebody may know of a slot that is not as it should be. Asked rarely.
class SlotDoubts {
 public:
  SlotDoubts() = default;
  SlotDoubts(const SlotDoubts&) = delete;
  SlotDoubts& operator=(const SlotDoubts&) = delete;
  virtual ~SlotDoubts() = default;
  // It is not committed: is it lost? Else it is waited for.
  virtual bool may_skip(std::uint64_t slot) = 0;
  // Its check does not fit. False: it cannot be read once more, or has not changed.
  virtual bool read_again(std::uint64_t slot, event::Record& record) = 0;
};

class SlotReader {
 public:
  SlotReader(const event::HeaderFields& header, event::NameTable& names);

  // Takes slots up to one that must be waited for; how many. Without `doubts` it takes all. The
  // events are in events() until the next call.
  std::size_t consume(std::span<event::Record> slots, SlotDoubts* doubts);
  [[nodiscard]] std::span<const event::Event> events() const {
    return {events_.data(), events_count_};
  }
  // Gives the memory of the last call's events back, if it is more than a little: a reader for each
  // of ten thousand ranks may have been told much once.
  void forget_events();
  // Slots taken so far.
  [[nodiscard]] std::uint64_t position() const { return slot_; }
  [[nodiscard]] std::uint64_t damaged() const { return counted_.damaged_records; }

  // No more slots will come, and this is what the header told last: what had been reserved and is
  // not there?
  void finish(const event::LiveFields& live);
  // `origin` begins the note, if there is one.
  [[nodiscard]] event::StreamLoss loss(const event::LiveFields& live,
                                       const std::string& origin) const;

 private:
  void decode(const event::Record& record, event::EventType type);
  void count_damaged();
  void settle_uncommitted();

  NameDecoder names_;
  TickMap ticks_;
  std::uint64_t slots_max_;
  std::uint64_t slot_ = 0;
  std::uint64_t unproven_ = 0;  // uncommitted slots just before slot_: lost, or never used
  std::uint64_t unproven_first_ = 0;
  std::uint64_t first_damaged_ = 0;
  std::uint64_t first_uncommitted_ = 0;
  std::uint64_t tail_uncommitted_ = 0;  // found by finish()
  std::uint64_t missing_ = 0;           // reserved slots beyond the end
  bool live_damaged_ = false;
  event::StreamLoss counted_;
  std::vector<event::Event> events_;
  std::size_t events_count_ = 0;
};

// What a journal says of itself.
[[nodiscard]] event::StreamInfo stream_info(const event::HeaderFields& header, std::string origin);

}  // namespace headway::record
