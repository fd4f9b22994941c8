#include "record/journal_reader.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/job_path.h"
#include "record/journal_header.h"

namespace headway::record {

using event::Event;
using event::Record;

base::Result<OpenedJournal> open_journal(const std::string& path) {
  base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return base::errno_status(path, "cannot open", errno);
  std::vector<char> head(event::kHeaderBytes);
  const long bytes = base::pread_full(fd.get(), head.data(), head.size(), 0);
  if (bytes < 0) return base::errno_status(path, "cannot read", errno);
  auto header = parse_header(head.data(), static_cast<std::size_t>(bytes), path);
  if (!header.ok()) return header.status();
  return OpenedJournal{std::move(fd), *header};
}

base::Result<std::unique_ptr<JournalReader>> JournalReader::open(const std::string& path,
                                                                 event::NameTable& names) {
  auto opened = open_journal(path);
  if (!opened.ok()) return opened.status();
  return std::unique_ptr<JournalReader>(
      new JournalReader(path, std::move(opened->fd), opened->header, names));
}

JournalReader::JournalReader(std::string path, base::UniqueFd fd, const event::HeaderFields& header,
                             event::NameTable& names)
    : path_(std::move(path)),
      fd_(std::move(fd)),
      header_(header),
      info_(stream_info(header, path_)),
      slots_(header, names) {
  refresh_live();
}

void JournalReader::refresh_live() {
  event::LiveFields live{};
  if (base::pread_full(fd_.get(), &live, sizeof(live), event::kLiveOffset) == sizeof(live)) {
    live_ = live;
  }
}

// Reads the slots that come next; false when the file has no whole slot there.
bool JournalReader::fill(std::size_t slots) {
  buffer_.resize(slots);
  const std::size_t offset = event::kHeaderBytes + slots_.position() * sizeof(Record);
  const long bytes = base::pread_full(fd_.get(), buffer_.data(), slots * sizeof(Record), offset);
  buffer_.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes) / sizeof(Record));
  return !buffer_.empty();
}

// In a live journal a slot was perhaps read while it was written, its fields before and its commit
// word after; now that it is committed, reading it alone shows it whole. (To read the rest of the
// batch again with it would tear the next one.) Also when final: a report on a running job reads
// what there is. A file that is damaged all over is not worth a system call a record.
bool JournalReader::read_again(std::uint64_t slot, Record& record) {
  if (slots_.damaged() >= batch_slots) return false;
  const std::size_t offset = event::kHeaderBytes + slot * sizeof(Record);
  return base::pread_full(fd_.get(), &record, sizeof(record), offset) == sizeof(record);
}

bool JournalReader::may_skip(std::uint64_t slot) {
  if (final_) return true;
  refresh_live();
  const std::uint64_t cursor = live_.cursor & ~event::kSealedBit;
  return cursor <= live_.limit && cursor > slot + wait_slots_max;
}

std::span<const Event> JournalReader::next() {
  while (true) {
    // A file may be cut while it is read, so what was there before is not taken for granted.
    if (!fill(batch_slots)) {
      if (final_) {
        refresh_live();
        slots_.finish(live_);
      }
      return {};
    }
    if (slots_.consume(buffer_, this) == 0) return {};
    if (!slots_.events().empty()) return slots_.events();
  }
}

base::Result<std::vector<std::string>> list_journals(const std::string& dir) {
  constexpr int kDepthMax = 2;  // jobs root, job, attempt
  return base::list_files(dir, base::kJournalSuffix, kDepthMax, journals_max);
}

}  // namespace headway::record
