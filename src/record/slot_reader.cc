#include "record/slot_reader.h"

#include <algorithm>
#include <utility>

namespace headway::record {

using event::Event;
using event::EventType;
using event::Record;

SlotReader::SlotReader(const event::HeaderFields& header, event::NameTable& names)
    : names_(names), ticks_(header), slots_max_(header.slots_max) {}

std::size_t SlotReader::consume(std::span<Record> slots, SlotDoubts* doubts) {
  const std::uint64_t first = slot_;
  events_count_ = 0;
  if (events_.size() < slots.size()) events_.resize(slots.size());
  for (Record& record : slots) {
    if (record.commit == 0) [[unlikely]] {
      if (doubts != nullptr && !doubts->may_skip(slot_)) break;
      if (unproven_ == 0) unproven_first_ = slot_;
      ++unproven_;
      ++slot_;
      continue;
    }
    if (event::is_sound(record)) [[likely]] {
      decode(record, event::type_of(record));
    } else if (doubts != nullptr && doubts->read_again(slot_, record) && event::is_sound(record)) {
      decode(record, event::type_of(record));
    } else {
      count_damaged();
    }
    settle_uncommitted();
    ++slot_;
  }
  return slot_ - first;
}

void SlotReader::forget_events() {
  constexpr std::size_t kept_max = 64;
  events_count_ = 0;
  if (events_.capacity() > kept_max) events_ = {};
}

void SlotReader::count_damaged() {
  if (counted_.damaged_records++ == 0) first_damaged_ = slot_;
}

// Uncommitted slots are lost for certain once something lies behind them.
void SlotReader::settle_uncommitted() {
  if (unproven_ == 0) return;
  if (counted_.uncommitted_records == 0) first_uncommitted_ = unproven_first_;
  counted_.uncommitted_records += unproven_;
  unproven_ = 0;
}

void SlotReader::decode(const Record& record, EventType type) {
  Event& event = events_[events_count_];  // there is one for every slot of a batch
  event.a = record.a;
  event.b = record.b;
  event.name = record.name;
  event.lane = record.lane;
  event.type = type;
  switch (type) {
    case EventType::begin:
    case EventType::end:
      event.name = names_.phase(record.name);
      break;
    case EventType::step:
    case EventType::step_end:
    case EventType::checkpoint:
    case EventType::device_done:
      break;
    case EventType::mark:
      if (record.name == HW_MARK_FAILURE || record.name == HW_MARK_EXIT) {
        event::EndInfo end = event::unpack_end(record.a, record.b);
        end.reason = names_.name(end.reason);
        event.b = event::pack_end_b(end);
      }
      break;
    case EventType::restore:
      event.name = names_.name(record.name);
      break;
    case EventType::attr:
      event.name = names_.name(record.name);
      event.a = names_.name(static_cast<std::uint64_t>(record.a));
      break;
    case EventType::hang:
      event.a = ticks_.real_ns(static_cast<std::uint64_t>(record.a));
      break;
    case EventType::name:
      names_.add_part(record);
      return;
    case EventType::anchor:
      ticks_.add_anchor(record.t, record.a, record.b);
      return;
    case EventType::none:
    default:
      count_damaged();  // a type that version 1 does not have
      return;
  }
  event.t_ns = ticks_.real_ns(record.t);
  ++events_count_;
}

void SlotReader::finish(const event::LiveFields& live) {
  const std::uint64_t cursor = live.cursor & ~event::kSealedBit;
  live_damaged_ = live.limit > slots_max_ || cursor > live.limit;
  tail_uncommitted_ = 0;
  missing_ = 0;
  if (live_damaged_) return;
  const std::uint64_t tail = slot_ - unproven_;  // everything from here to slot_ is uncommitted
  if (cursor > slot_) missing_ = cursor - slot_;
  if (cursor > tail) tail_uncommitted_ = std::min(cursor, slot_) - tail;
  if (tail_uncommitted_ > 0 && counted_.uncommitted_records == 0) first_uncommitted_ = tail;
}

event::StreamLoss SlotReader::loss(const event::LiveFields& live, const std::string& origin) const {
  event::StreamLoss loss = counted_;
  loss.dropped_records = live.dropped;
  loss.uncommitted_records += tail_uncommitted_;
  loss.damaged_records += missing_ + (live_damaged_ ? 1 : 0);
  loss.clock_jumps = ticks_.jumps();
  loss.clock_jump_ns = ticks_.jump_ns();
  const auto place = [](std::uint64_t slot) {
    return " (first: slot " + std::to_string(slot) + ", byte " +
           std::to_string(event::kHeaderBytes + slot * sizeof(Record)) + ")";
  };
  std::string note;
  const auto add = [&note](const std::string& text) { note += (note.empty() ? "" : "; ") + text; };
  if (counted_.damaged_records > 0) {
    add(std::to_string(counted_.damaged_records) + " damaged records" + place(first_damaged_));
  }
  if (missing_ > 0) {
    add("the file ends " + std::to_string(missing_) + " records early" + place(slot_));
  }
  if (live_damaged_) add("header fields cursor and limit at bytes 512 and 576 are damaged");
  if (loss.uncommitted_records > 0) {
    add(std::to_string(loss.uncommitted_records) + " records not committed" +
        place(first_uncommitted_));
  }
  if (loss.dropped_records > 0) {
    add(std::to_string(loss.dropped_records) +
        " records dropped by the writer: no room (raise HEADWAY_JOURNAL_MAX_BYTES, or free disk)");
  }
  if (live.names_dropped > 0) {
    add(std::to_string(live.names_dropped) + " names beyond the table became ~other");
  }
  if (loss.clock_jumps > 0) {
    add("real time jumped " + std::to_string(loss.clock_jumps) + " times, not applied");
  }
  if (!note.empty()) loss.note = origin + ": " + note;
  return loss;
}

event::StreamInfo stream_info(const event::HeaderFields& header, std::string origin) {
  event::StreamInfo info;
  info.job = header.job;
  info.attempt = static_cast<std::int64_t>(header.attempt);
  info.rank = header.rank;
  info.world_size = header.world_size;
  info.host = header.host;
  info.origin = std::move(origin);
  return info;
}

}  // namespace headway::record
