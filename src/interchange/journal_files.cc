#include "interchange/journal_files.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <utility>

#include "base/file.h"
#include "event/record.h"
#include "record/journal_reader.h"

namespace headway::interchange {
namespace {

// The constant part of the header, which no two journals share (it holds pid, boot id and clock),
// and how far the journal had got.
struct Head {
  std::string bytes;
  std::uint64_t cursor = 0;
};

Head read_head(const std::string& path) {
  Head head;
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return head;
  head.bytes.resize(sizeof(event::HeaderFields));
  const long n = base::pread_full(fd.get(), head.bytes.data(), head.bytes.size(), 0);
  head.bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  event::LiveFields live{};
  if (base::pread_full(fd.get(), &live, sizeof(live), event::kLiveOffset) == sizeof(live)) {
    head.cursor = live.cursor & ~event::kSealedBit;
  }
  return head;
}

// Reads a journal and keeps its job's names alive for as long.
class NamedSource final : public event::EventSource {
 public:
  NamedSource(std::unique_ptr<record::JournalReader> reader,
              std::shared_ptr<event::NameTable> names)
      : names_(std::move(names)), reader_(std::move(reader)) {
    reader_->set_final();
  }
  std::span<const event::Event> next() override { return reader_->next(); }
  [[nodiscard]] const event::StreamInfo& info() const override { return reader_->info(); }
  [[nodiscard]] event::StreamLoss loss() const override { return reader_->loss(); }

 private:
  std::shared_ptr<event::NameTable> names_;
  std::unique_ptr<record::JournalReader> reader_;
};

}  // namespace

// By its first bytes; a file that is called a journal is read as one, so that damage is told as
// such.
bool is_journal(const std::string& path) {
  if (path.ends_with(".hwj")) return true;
  constexpr std::size_t kMagicBytes = sizeof(event::kJournalMagic);
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char magic[kMagicBytes];
  return fd.valid() && base::pread_full(fd.get(), magic, kMagicBytes, 0) == kMagicBytes &&
         std::memcmp(magic, event::kJournalMagic, kMagicBytes) == 0;
}

std::vector<JournalFile> read_headers(const std::vector<std::string>& paths,
                                      std::vector<std::string>& notes) {
  std::vector<JournalFile> files;
  std::map<std::string, std::pair<std::size_t, std::uint64_t>> seen;  // header: index, cursor
  event::NameTable scratch;
  for (const std::string& path : paths) {
    auto reader = record::JournalReader::open(path, scratch);
    if (!reader.ok()) {
      notes.push_back(reader.status().message());
      continue;
    }
    Head head = read_head(path);
    const auto [same, fresh] =
        seen.try_emplace(std::move(head.bytes), std::make_pair(files.size(), head.cursor));
    if (fresh) {
      files.push_back({path, (*reader)->info()});
      continue;
    }
    auto& [index, cursor] = same->second;
    const std::string& other = files[index].path;
    notes.push_back(
        fmt::format("{} and {} are copies of one journal: the longer one is read", other, path));
    if (head.cursor > cursor) {
      files[index] = {path, (*reader)->info()};
      cursor = head.cursor;
    }
  }
  return files;
}

event::Stream journal_stream(const JournalFile& file, std::shared_ptr<event::NameTable> names) {
  const std::string path = file.path;
  return {file.info, [path, names = std::move(names)]() -> std::unique_ptr<event::EventSource> {
            auto reader = record::JournalReader::open(path, *names);
            if (!reader.ok()) return nullptr;
            return std::make_unique<NamedSource>(std::move(*reader), names);
          }};
}

}  // namespace headway::interchange
