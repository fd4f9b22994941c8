// One job as the collector knows it: attributed as its batches come in, and at any time what a
// report on its journals would say. All of it can be made again from the store, and is, when the
// collector has been restarted or when something came too late to be put where it belongs.
//
// One owner, one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "event/event.h"
#include "ingest/batch.h"
#include "record/slot_reader.h"
#include "store/store.h"
#include "timeline/live_job.h"

namespace headway::collector {

class JobKeeper {
 public:
  // `fresh`: the store knew nothing of the job before; else it is read from there when it is
  // needed.
  JobKeeper(store::Store& store, store::JobRow job, bool fresh);

  // A batch that the store has just kept, and its slots. False: it is not what follows on those
  // that are in, as others append to the job, too; catch_up() reads it from the store with theirs.
  bool took(const ingest::Batch& batch, std::span<event::Record> slots, std::int64_t before_seq,
            std::int64_t seq);

  // Whether the store has to be read before the job can be told.
  [[nodiscard]] bool must_reread() const { return !loaded_ || live_.must_reread(); }
  // Reading may take long, and others may write meanwhile: what came after it began is taken in by
  // catch_up(), as often as one likes. Beside both only heard() may be called.
  base::Status reread();
  base::Status catch_up();

  // As it stands, or stood when it was last put in order. `now_ns` is set while it is alive.
  [[nodiscard]] timeline::JobResult snapshot(std::optional<std::int64_t> now_ns) const;
  // For make_report(): the names, and no streams.
  [[nodiscard]] event::JobStreams names() const;

  [[nodiscard]] const store::JobRow& job() const { return job_; }
  void heard(std::int64_t received_ns) { job_.heard_ns = std::max(job_.heard_ns, received_ns); }
  // Goes up with everything that was taken in.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  // All batches up to it are in.
  [[nodiscard]] std::int64_t seq() const { return seq_; }
  // Every journal is told to its end.
  [[nodiscard]] bool is_final() const;

 private:
  struct Journal {
    event::StreamInfo info;
    std::shared_ptr<record::SlotReader> reader;
    event::LiveFields live{};
    bool is_final = false;
  };
  void take(const ingest::Batch& batch, std::span<event::Record> slots, std::int64_t seq);
  void take_chunk(const ingest::ChunkRecord& chunk, std::span<event::Record> slots);

  store::Store& store_;
  store::JobRow job_;
  std::shared_ptr<event::NameTable> names_;
  timeline::LiveJob live_;
  std::map<ingest::JournalId, Journal> journals_;
  bool loaded_;
  std::int64_t seq_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace headway::collector
