#include "ingest/journal_tail.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/pid_namespace.h"
#include "ingest/batch.h"
#include "record/journal_reader.h"

namespace headway::ingest {

using event::Record;

base::Result<std::unique_ptr<JournalTail>> JournalTail::open(const std::string& path) {
  auto opened = record::open_journal(path);
  if (!opened.ok()) return opened.status();
  return std::unique_ptr<JournalTail>(new JournalTail(path, std::move(opened->fd), opened->header));
}

JournalTail::JournalTail(std::string path, base::UniqueFd fd, const event::HeaderFields& header)
    : path_(std::move(path)), fd_(std::move(fd)), header_(header), id_(journal_id(header)) {}

std::string JournalTail::name() const {
  const std::size_t slash = path_.rfind('/');
  return slash == std::string::npos ? path_ : path_.substr(slash + 1);
}

void JournalTail::refresh_live() {
  event::LiveFields live{};
  if (base::pread_full(fd_.get(), &live, sizeof(live), event::kLiveOffset) == sizeof(live)) {
    live_ = live;
  }
}

std::size_t JournalTail::fill(std::uint64_t slot, std::size_t slots) {
  buffer_.resize(slots);
  const std::size_t offset = event::kHeaderBytes + slot * sizeof(Record);
  const long bytes = base::pread_full(fd_.get(), buffer_.data(), slots * sizeof(Record), offset);
  buffer_.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes) / sizeof(Record));
  return buffer_.size();
}

// How many of the slots in the buffer can go. Of a dead journal all up to the last that was
// reserved or committed: room behind it was never used.
std::size_t JournalTail::ready(std::size_t slots, bool dead) {
  const std::uint64_t cursor = live_.cursor & ~event::kSealedBit;
  const bool sane = cursor <= live_.limit && live_.limit <= header_.slots_max;
  std::size_t used = 0;
  for (std::size_t i = 0; i < slots; ++i) {
    Record& record = buffer_[i];
    const std::uint64_t slot = position_ + i;
    if (record.commit == 0) {
      const bool lost = dead || (sane && cursor > slot + record::JournalReader::wait_slots_max);
      if (!lost) return i;
      if (!sane || slot < cursor) used = i + 1;
      continue;
    }
    // Read while it was written? Alone it shows whether it is whole now; see JournalReader.
    if (!event::is_sound(record)) {
      const std::size_t offset = event::kHeaderBytes + slot * sizeof(Record);
      Record again;
      if (base::pread_full(fd_.get(), &again, sizeof(again), offset) == sizeof(again)) {
        record = again;
      }
    }
    used = i + 1;
  }
  return used;
}

// Whether anything was committed from `slot` on: behind a cursor that is damaged there may be.
bool JournalTail::any_behind(std::uint64_t slot) {
  while (fill(slot, read_slots) > 0) {
    if (std::ranges::any_of(buffer_, [](const Record& r) { return r.commit != 0; })) return true;
    slot += buffer_.size();
  }
  return false;
}

JournalTail::Read JournalTail::read(std::size_t slots, bool dead) {
  refresh_live();
  dead = dead || (live_.cursor & event::kSealedBit) != 0;
  const std::size_t there = fill(position_, std::min(slots, read_slots));
  std::size_t count = ready(there, dead);
  if (dead && count == 0 && there > 0 && any_behind(position_ + there)) {
    count = there;  // lost ones, then
    fill(position_, there);
  }
  Read out;
  out.slots = {buffer_.data(), count};
  ChunkRecord& chunk = out.chunk;
  chunk.journal = id_;
  chunk.first_slot = position_;
  chunk.slots = static_cast<std::uint32_t>(count);
  if (live_.closed != 0) chunk.flags |= kChunkClosed;
  if (dead && slots > 0 && count == 0) chunk.flags |= kChunkFinal;
  chunk.cursor = live_.cursor;
  chunk.limit = live_.limit;
  chunk.dropped = live_.dropped;
  chunk.names_dropped = live_.names_dropped;
  position_ += count;
  return out;
}

bool writer_is_gone(const event::HeaderFields& header) {
  const base::BootId ours = base::boot_id();
  base::BootId theirs;
  std::copy_n(header.boot_id, theirs.size(), theirs.begin());
  const base::BootId unknown{};
  if (ours != unknown && theirs != unknown && ours != theirs) return true;
  if (header.pid_namespace != 0 && header.pid_namespace != base::pid_namespace()) return false;
  return ::kill(static_cast<pid_t>(header.pid), 0) != 0 && errno == ESRCH;
}

}  // namespace headway::ingest
