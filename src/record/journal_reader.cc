#include "record/journal_reader.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/job_path.h"
#include "record/journal_header.h"

namespace headway::record {

using event::Event;
using event::EventType;
using event::Record;

namespace {

EventType type_of(const Record& record) {
  return static_cast<EventType>(record.commit & 0xFF);
}

bool is_sound(const Record& record) {
  return event::record_check(record.t, record.a, record.b, record.name, record.lane,
                             type_of(record)) == record.commit >> 8;
}

}  // namespace

base::Result<std::unique_ptr<JournalReader>> JournalReader::open(const std::string& path,
                                                                 event::NameTable& names) {
  base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return base::errno_status(path, "cannot open", errno);
  std::vector<char> head(event::kHeaderBytes);
  const long bytes = base::pread_full(fd.get(), head.data(), head.size(), 0);
  if (bytes < 0) return base::errno_status(path, "cannot read", errno);
  auto header = parse_header(head.data(), static_cast<std::size_t>(bytes), path);
  if (!header.ok()) return header.status();
  return std::unique_ptr<JournalReader>(
      new JournalReader(path, std::move(fd), header.value(), names));
}

JournalReader::JournalReader(std::string path, base::UniqueFd fd, const event::HeaderFields& header,
                             event::NameTable& names)
    : path_(std::move(path)), fd_(std::move(fd)), header_(header), names_(names), ticks_(header) {
  info_.job = header.job;
  info_.attempt = static_cast<std::int64_t>(header.attempt);
  info_.rank = header.rank;
  info_.world_size = header.world_size;
  info_.host = header.host;
  info_.origin = path_;
  refresh_live();
}

void JournalReader::refresh_live() {
  event::LiveFields live{};
  if (base::pread_full(fd_.get(), &live, sizeof(live), event::kLiveOffset) == sizeof(live)) {
    live_ = live;
  }
}

// Reads the slots from slot_ on; false when the file has no whole slot there.
bool JournalReader::fill(std::size_t slots) {
  buffer_.resize(slots);
  const std::size_t offset = event::kHeaderBytes + slot_ * sizeof(Record);
  const long bytes = base::pread_full(fd_.get(), buffer_.data(), slots * sizeof(Record), offset);
  buffer_.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes) / sizeof(Record));
  return !buffer_.empty();
}

// The slot at slot_ failed its check. In a live journal it was perhaps read while it was written,
// its fields before and its commit word after; now that it is committed, reading it alone shows it
// whole. (To read the rest of the batch again with it would tear the next one.) Also when final: a
// report on a running job reads what there is. A file that is damaged all over is not worth a
// system call a record.
bool JournalReader::read_again(Record& record) {
  if (counted_.damaged_records >= batch_slots) return false;
  const std::size_t offset = event::kHeaderBytes + slot_ * sizeof(Record);
  return base::pread_full(fd_.get(), &record, sizeof(record), offset) == sizeof(record);
}

// Whether to go past a slot that is not committed.
bool JournalReader::may_skip(std::uint64_t slot) {
  if (final_) return true;
  refresh_live();
  const std::uint64_t cursor = live_.cursor & ~event::kSealedBit;
  return cursor <= live_.limit && cursor > slot + wait_slots_max;
}

std::span<const Event> JournalReader::next() {
  events_count_ = 0;
  while (events_count_ == 0) {
    // A file may be cut while it is read, so what was there before is not taken for granted.
    if (!fill(batch_slots)) {
      if (final_) finish();
      break;
    }
    const std::size_t used = consume();
    if (used == 0) break;
  }
  return {events_.data(), events_count_};
}

// Decodes what is in the buffer up to a slot that must be waited for; the number of slots passed.
std::size_t JournalReader::consume() {
  const std::uint64_t first = slot_;
  events_.resize(batch_slots);
  for (std::size_t i = 0; i < buffer_.size(); ++i) {
    if (buffer_[i].commit == 0) [[unlikely]] {
      if (!may_skip(slot_)) break;
      if (unproven_ == 0) unproven_first_ = slot_;
      ++unproven_;
      ++slot_;
      continue;
    }
    if (!is_sound(buffer_[i]) && !(read_again(buffer_[i]) && is_sound(buffer_[i]))) [[unlikely]] {
      count_damaged();
    } else {
      decode(buffer_[i], type_of(buffer_[i]));
    }
    settle_uncommitted();
    ++slot_;
  }
  return slot_ - first;
}

void JournalReader::count_damaged() {
  if (counted_.damaged_records++ == 0) first_damaged_ = slot_;
}

// Uncommitted slots are lost for certain once something lies behind them.
void JournalReader::settle_uncommitted() {
  if (unproven_ == 0) return;
  if (counted_.uncommitted_records == 0) first_uncommitted_ = unproven_first_;
  counted_.uncommitted_records += unproven_;
  unproven_ = 0;
}

void JournalReader::decode(const Record& record, EventType type) {
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

// The end of a dead journal: what had been reserved and is not there?
void JournalReader::finish() {
  refresh_live();
  const std::uint64_t cursor = live_.cursor & ~event::kSealedBit;
  live_damaged_ = live_.limit > header_.slots_max || cursor > live_.limit;
  tail_uncommitted_ = 0;
  missing_ = 0;
  if (live_damaged_) return;
  const std::uint64_t tail = slot_ - unproven_;  // everything from here to slot_ is uncommitted
  if (cursor > slot_) missing_ = cursor - slot_;
  if (cursor > tail) tail_uncommitted_ = std::min(cursor, slot_) - tail;
  if (tail_uncommitted_ > 0 && counted_.uncommitted_records == 0) first_uncommitted_ = tail;
}

event::StreamLoss JournalReader::loss() const {
  event::StreamLoss loss = counted_;
  loss.dropped_records = live_.dropped;
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
    add(std::to_string(loss.uncommitted_records) + " records never committed" +
        place(first_uncommitted_));
  }
  if (loss.dropped_records > 0) {
    add(std::to_string(loss.dropped_records) +
        " records dropped by the writer: no room (raise HEADWAY_JOURNAL_MAX_BYTES, or free disk)");
  }
  if (live_.names_dropped > 0) {
    add(std::to_string(live_.names_dropped) + " names beyond the table became ~other");
  }
  if (loss.clock_jumps > 0) {
    add("real time jumped " + std::to_string(loss.clock_jumps) + " times, not applied");
  }
  if (!note.empty()) loss.note = path_ + ": " + note;
  return loss;
}

base::Result<std::vector<std::string>> list_journals(const std::string& dir) {
  constexpr int kDepthMax = 2;  // jobs root, job, attempt
  return base::list_files(dir, base::kJournalSuffix, kDepthMax, journals_max);
}

}  // namespace headway::record
