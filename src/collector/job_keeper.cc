#include "collector/job_keeper.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "collector/stored_job.h"

namespace headway::collector {

using base::Status;

namespace {

// Slots are made into events so many at a time: an event takes twice the memory of its slot.
constexpr std::size_t slots_at_once_max = 4096;

// A stream may be opened several times: to look at its beginning, or in vain. The one that was read
// to its end is what goes on.
std::shared_ptr<record::SlotReader> furthest(
    const std::vector<std::shared_ptr<record::SlotReader>>& readers) {
  return *std::ranges::max_element(readers, {}, &record::SlotReader::position);
}

}  // namespace

JobKeeper::JobKeeper(store::Store& store, store::JobRow job, bool fresh)
    : store_(store),
      job_(std::move(job)),
      names_(std::make_shared<event::NameTable>()),
      live_(job_.name, names_),
      loaded_(fresh) {}

bool JobKeeper::took(const ingest::Batch& batch, std::span<event::Record> slots,
                     std::int64_t before_seq, std::int64_t seq) {
  HW_CHECK(seq > before_seq);
  ++version_;
  if (!loaded_ || seq <= seq_) return true;  // all of it will be read, or this has been
  if (before_seq != seq_) return false;
  take(batch, slots, seq);
  return true;
}

void JobKeeper::take(const ingest::Batch& batch, std::span<event::Record> slots, std::int64_t seq) {
  for (const ingest::HeadRecord& head : batch.heads) {
    const auto [it, fresh] = journals_.try_emplace(ingest::journal_id(head.journal));
    if (!fresh) continue;
    it->second.info = record::stream_info(head.journal, head.name);
    it->second.reader = std::make_shared<record::SlotReader>(head.journal, *names_);
  }
  for (const ingest::ChunkRecord& chunk : batch.chunks) {
    HW_CHECK(chunk.slots <= slots.size());
    take_chunk(chunk, slots.first(chunk.slots));
    slots = slots.subspan(chunk.slots);
  }
  if (loaded_) seq_ = seq;
}

void JobKeeper::take_chunk(const ingest::ChunkRecord& chunk, std::span<event::Record> slots) {
  const auto found = journals_.find(chunk.journal);
  if (found == journals_.end()) {
    loaded_ = false;
    return;
  }
  Journal& journal = found->second;
  const std::uint64_t position = journal.reader->position();
  if (chunk.first_slot > position) {
    loaded_ = false;
    return;
  }
  const std::uint64_t known = std::min<std::uint64_t>(position - chunk.first_slot, slots.size());
  for (slots = slots.subspan(known); !slots.empty();) {
    const std::size_t count = std::min(slots.size(), slots_at_once_max);
    journal.reader->consume(slots.first(count), nullptr);
    live_.consume(journal.info, journal.reader->events());
    slots = slots.subspan(count);
  }
  journal.reader->forget_events();
  if (chunk.first_slot + chunk.slots == journal.reader->position()) {
    journal.live = ingest::live_fields(chunk);
    if ((chunk.flags & ingest::kChunkFinal) != 0) {
      journal.is_final = true;
      journal.reader->finish(journal.live);
    }
  }
  live_.consume(journal.info, {});  // one of which nothing was heard yet is known, too
}

Status JobKeeper::reread() {
  // Before the journals are asked for: those of all batches up to it are known then.
  auto newest = store_.newest_seq(job_.key);
  if (!newest.ok()) return newest.status();
  auto names = std::make_shared<event::NameTable>();
  std::map<ingest::JournalId, Journal> journals;
  std::map<ingest::JournalId, std::vector<std::shared_ptr<record::SlotReader>>> readers;
  auto streams = stored_job(
      store_, job_, names,
      [&](const store::JournalRow& row, const std::shared_ptr<record::SlotReader>& reader) {
        const ingest::JournalId id = ingest::journal_id(row.head.journal);
        Journal& journal = journals[id];
        journal.info = record::stream_info(row.head.journal, row.head.name);
        journal.live = ingest::live_fields(row.progress.last);
        journal.is_final = row.progress.is_final();
        readers[id].push_back(reader);
      });
  if (!streams.ok()) return streams.status();
  timeline::LiveJob live(job_.name, names, live_.wanted());
  live.reread(*streams);
  for (auto& [id, journal] : journals) {
    journal.reader = furthest(readers.at(id));
    journal.reader->forget_events();
  }
  live_ = std::move(live);
  names_ = std::move(names);
  journals_ = std::move(journals);
  loaded_ = true;
  seq_ = *newest;
  ++version_;
  return {};
}

Status JobKeeper::catch_up() {
  Status damage;
  std::vector<event::Record> slots;
  const Status status =
      store_.batches(job_.key, std::nullopt, seq_, [&](const store::BatchRow& row) {
        const std::string what = "stored batch " + std::to_string(row.seq);
        auto batch = ingest::Batch::parse(row.bytes, what);
        damage = batch.ok() ? ingest::unpack_slots(batch->packed, batch->header.slots, slots, what)
                            : batch.status();
        if (!damage.ok()) return false;
        ++version_;
        take(*batch, slots, row.seq);
        return loaded_;
      });
  return status.ok() ? damage : status;
}

timeline::JobResult JobKeeper::snapshot(std::optional<std::int64_t> now_ns) const {
  timeline::JobResult job = live_.snapshot(now_ns);
  // Ranks in their order, then the launchers; a rank's journals by their names.
  std::vector<const Journal*> all;
  for (const auto& [id, journal] : journals_) all.push_back(&journal);
  std::ranges::sort(all, {}, [](const Journal* j) {
    return std::tuple(j->info.attempt, j->info.rank, std::string_view(j->info.origin));
  });
  for (timeline::AttemptResult& attempt : job.attempts) {
    attempt.streams.clear();
    // Ranks are taken in before their journals are here, and where they run is known with those.
    for (timeline::RankShare& share : attempt.ranks) {
      const auto own = std::ranges::lower_bound(
          all, std::tuple(attempt.id, share.rank), {},
          [](const Journal* j) { return std::tuple(j->info.attempt, j->info.rank); });
      const bool here =
          own != all.end() && (*own)->info.attempt == attempt.id && (*own)->info.rank == share.rank;
      share.host = here ? (*own)->info.host : "";
    }
    for (const Journal* journal : all) {
      if (journal->info.attempt != attempt.id) continue;
      attempt.streams.push_back(
          {journal->info, journal->reader->loss(journal->live, journal->info.origin)});
    }
  }
  return job;
}

event::JobStreams JobKeeper::names() const {
  event::JobStreams streams;
  streams.job = job_.name;
  streams.names = names_;
  return streams;
}

bool JobKeeper::is_final() const {
  return loaded_ &&
         std::ranges::all_of(journals_, [](const auto& each) { return each.second.is_final; });
}

}  // namespace headway::collector
