// A journal's name ids → the ids of the job's NameTable. Names arrive as runs of `name` records;
// an id that is used without ever having been defined comes out as "~unknown". One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "event/event.h"
#include "event/record.h"

namespace headway::record {

class NameDecoder {
 public:
  explicit NameDecoder(event::NameTable& table) : table_(table) {}

  // One `name` record. A run that is broken off defines nothing.
  void add_part(const event::Record& record);

  // 0 stays 0. Built-in phases keep their numbers.
  [[nodiscard]] event::NameId name(std::uint64_t journal_id) { return map(journal_id, false); }
  // The same, but a user's name that spells a built-in phase is that phase.
  [[nodiscard]] event::PhaseId phase(std::uint64_t journal_id) {
    if (journal_id < event::kUserFirst) return static_cast<event::PhaseId>(journal_id);
    return map(journal_id, true);
  }

 private:
  struct Entry {
    event::NameId name = 0;  // 0: not defined
    event::PhaseId phase = 0;
  };
  event::NameId map(std::uint64_t journal_id, bool as_phase);
  void define(std::uint16_t id);

  event::NameTable& table_;
  std::vector<Entry> entries_;  // by journal id - kUserFirst; ids are given out in order
  event::NameId unknown_ = 0;
  std::uint16_t run_id_ = 0;
  std::uint32_t run_parts_ = 0;  // 0: no run is open
  std::uint32_t run_next_ = 0;
  std::string run_text_;
};

}  // namespace headway::record
