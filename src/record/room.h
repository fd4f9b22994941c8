// How much room the journal has ahead of its cursor, decided and made: the keeper's eyes and hands,
// without its thread and clock. Room is disk that is allocated and pages that are mapped, so it is
// not had for nothing: a quiet journal gets little, one that was ever asked for much keeps more.
// One thread at a time, the one that owns the JournalFile.
#pragma once

#include <cstdint>

#include "record/journal_file.h"

namespace headway::record {

class Room {
 public:
  // Below `lead` slots of room it is made, up to twice as much. The lead is twice the most that was
  // asked for (recorded or dropped) between two looks: the same burst again finds room.
  static constexpr std::uint64_t lead_slots_min = 64 * 1024;
  static constexpr std::uint64_t lead_slots_max = 1024 * 1024;
  // 4 MiB: what one look makes at most, so that writers who have run dry get it after milliseconds.
  static constexpr std::uint64_t piece_slots_max = 128 * 1024;
  static constexpr std::uint64_t piece_slots_min = 2048;  // what is still tried on a full disk

  enum class Found {
    quiet,   // nothing was asked for
    busy,    // something was
    behind,  // more room has to be made: look again at once
    stuck    // none can be had: do not ask for a while
  };

  void open(JournalFile* file);
  // may_grow == false: only sees what is asked for, so that a pause is not taken for a burst.
  Found look(bool may_grow = true);
  [[nodiscard]] std::uint64_t lead() const { return lead_; }

 private:
  JournalFile* file_ = nullptr;
  std::uint64_t seen_ = 0;  // records asked for, at the last look
  std::uint64_t lead_ = lead_slots_min;
  bool making_ = false;  // between running below the lead and having twice as much
};

}  // namespace headway::record
