// The batches of one attempt in a store, by journal: which slots are where, and the last unpacked
// ones. Ranks of an attempt are read nearly in step, so a batch that one of them needs is needed by
// its neighbours next. One thread.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "event/record.h"
#include "ingest/format.h"
#include "store/store.h"

namespace headway::collector {

// Slots of one journal inside one batch.
struct StoredPart {
  std::int64_t seq = 0;
  std::uint64_t first_slot = 0;
  std::uint32_t slots = 0;
  std::uint32_t offset = 0;  // in the batch's slots
};

class StoredAttempt {
 public:
  static base::Result<std::shared_ptr<StoredAttempt>> open(store::Store& store, store::JobKey job,
                                                           std::uint64_t attempt);

  // In the order in which they came; empty: none.
  [[nodiscard]] const std::vector<StoredPart>& parts(const ingest::JournalId& journal) const;
  // The part's slots, until the next call.
  base::Result<std::span<const event::Record>> slots(const StoredPart& part);

 private:
  struct Unpacked {
    std::int64_t seq;
    std::vector<event::Record> slots;
  };
  StoredAttempt(store::Store& store, store::JobKey job, std::uint64_t attempt)
      : store_(store), job_(job), attempt_(attempt) {}

  store::Store& store_;
  store::JobKey job_;
  std::uint64_t attempt_;
  std::map<ingest::JournalId, std::vector<StoredPart>> parts_;
  std::list<Unpacked> unpacked_;  // the newest used first
  std::size_t unpacked_bytes_ = 0;
};

}  // namespace headway::collector
