#include "record/name_decoder.h"

#include <cstring>

#include "base/check.h"

namespace headway::record {

void NameDecoder::add_part(const event::Record& record) {
  const std::uint32_t part = record.lane & 0xFF;
  const std::uint32_t parts = record.lane >> 8;
  if (part == 0) {
    run_id_ = record.name;
    run_parts_ = parts <= event::name_parts_max ? parts : 0;
    run_next_ = 0;
    run_text_.clear();
  }
  if (run_parts_ == 0 || record.name != run_id_ || part != run_next_ || parts != run_parts_) {
    run_parts_ = 0;
    return;
  }
  char bytes[event::kNameBytesPerRecord];
  std::memcpy(bytes, &record, sizeof(bytes));
  run_text_.append(bytes, ::strnlen(bytes, sizeof(bytes)));
  ++run_next_;
  if (run_next_ == run_parts_) {
    define(run_id_);
    run_parts_ = 0;
  }
}

void NameDecoder::define(std::uint16_t id) {
  HW_CHECK(run_text_.size() <= event::kNameBytesMax);
  if (id <= event::kOtherNameId) return;  // not a writer's to define
  const std::size_t index = id - event::kUserFirst;
  if (entries_.size() <= index) entries_.resize(index + 1);
  Entry& entry = entries_[index];
  entry.name = table_.intern(run_text_);
  entry.phase = event::phase_from_name(run_text_).value_or(entry.name);
}

event::NameId NameDecoder::map(std::uint64_t journal_id, bool as_phase) {
  if (journal_id == 0) return 0;
  if (journal_id == event::kOtherNameId) return event::NameTable::kOtherName;
  if (journal_id < event::kUserFirst &&
      !event::phase_name(static_cast<event::PhaseId>(journal_id)).empty()) {
    return static_cast<event::NameId>(journal_id);
  }
  if (journal_id > event::kUserFirst && journal_id - event::kUserFirst < entries_.size()) {
    const Entry& entry = entries_[journal_id - event::kUserFirst];
    if (entry.name != 0) return as_phase ? entry.phase : entry.name;
  }
  if (unknown_ == 0) unknown_ = table_.intern("~unknown");
  return unknown_;
}

}  // namespace headway::record
