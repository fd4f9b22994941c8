#include "collector/stored_job.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "collector/stored_attempt.h"
#include "ingest/batch.h"
#include "record/slot_reader.h"

namespace headway::collector {
namespace {

using base::Result;
using base::Status;
using event::Record;

class StoredSource final : public event::EventSource {
 public:
  StoredSource(std::shared_ptr<StoredAttempt> attempt, const store::JournalRow& row,
               std::shared_ptr<record::SlotReader> reader, std::shared_ptr<event::NameTable> names)
      : attempt_(std::move(attempt)),
        names_(std::move(names)),
        parts_(attempt_->parts(ingest::journal_id(row.head.journal))),
        is_final_(row.progress.is_final()),
        live_(ingest::live_fields(row.progress.last)),
        info_(record::stream_info(row.head.journal, row.head.name)),
        reader_(std::move(reader)) {}

  std::span<const event::Event> next() override {
    while (at_ < parts_.size()) {
      const StoredPart& part = parts_[at_++];
      const std::uint64_t end = part.first_slot + part.slots;
      if (end <= reader_->position() || part.first_slot > reader_->position()) continue;
      const auto slots = attempt_->slots(part);
      if (!slots.ok()) {
        damage_ = slots.status().message();
        at_ = parts_.size();
        break;
      }
      const auto fresh = slots.value().subspan(reader_->position() - part.first_slot);
      buffer_.assign(fresh.begin(), fresh.end());
      reader_->consume(buffer_, nullptr);
      if (!reader_->events().empty()) return reader_->events();
    }
    if (is_final_) reader_->finish(live_);
    return {};
  }
  [[nodiscard]] const event::StreamInfo& info() const override { return info_; }
  [[nodiscard]] event::StreamLoss loss() const override {
    event::StreamLoss loss = reader_->loss(live_, info_.origin);
    if (!damage_.empty()) loss.note += (loss.note.empty() ? "" : "; ") + damage_;
    return loss;
  }

 private:
  std::shared_ptr<StoredAttempt> attempt_;
  std::shared_ptr<event::NameTable> names_;
  const std::vector<StoredPart>& parts_;
  bool is_final_;  // else what seems to be missing at its end is on its way
  event::LiveFields live_;
  event::StreamInfo info_;
  std::shared_ptr<record::SlotReader> reader_;
  std::size_t at_ = 0;
  std::vector<Record> buffer_;
  std::string damage_;
};

}  // namespace

Result<event::JobStreams> stored_job(store::Store& store, const store::JobRow& job,
                                     std::shared_ptr<event::NameTable> names, const OnOpen& on_open,
                                     std::optional<std::uint64_t> only_attempt) {
  auto journals = store.journals(job.key);
  if (!journals.ok()) return journals.status();
  event::JobStreams out;
  out.job = job.name;
  out.names = names;
  std::map<std::uint64_t, std::shared_ptr<StoredAttempt>> attempts;
  for (const store::JournalRow& row : *journals) attempts[row.progress.attempt];
  if (only_attempt)
    std::erase_if(attempts, [&](const auto& each) { return each.first != *only_attempt; });
  // All of them are open at once: what is kept of a job is bounded, however often it was tried.
  StoredLimits limits;
  limits.kept_bytes_max /= std::max<std::size_t>(attempts.size(), 1);
  limits.unpacked_bytes_max /= std::max<std::size_t>(attempts.size(), 1);
  for (const store::JournalRow& row : *journals) {
    if (only_attempt && row.progress.attempt != *only_attempt) continue;
    std::shared_ptr<StoredAttempt>& attempt = attempts[row.progress.attempt];
    if (!attempt) {
      auto opened = StoredAttempt::open(store, job.key, row.progress.attempt, limits);
      if (!opened.ok()) return opened.status();
      attempt = std::move(*opened);
    }
    out.streams.push_back(
        {record::stream_info(row.head.journal, row.head.name),
         [attempt, row, names, on_open]() -> std::unique_ptr<event::EventSource> {
           auto reader = std::make_shared<record::SlotReader>(row.head.journal, *names);
           if (on_open) on_open(row, reader);
           return std::make_unique<StoredSource>(attempt, row, std::move(reader), names);
         }});
  }
  return out;
}

}  // namespace headway::collector
