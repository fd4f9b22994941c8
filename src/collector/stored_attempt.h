// The batches of one attempt in a store, by journal: which slots are where, the batches themselves
// as long as they are small together, and the last unpacked ones. Ranks of an attempt are read
// nearly in step, or one after the other: a batch that one of them needs is needed by its
// neighbours next. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
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

// More of an attempt is read again when it is needed.
struct StoredLimits {
  std::size_t kept_bytes_max = 16u << 20;      // as it is stored
  std::size_t unpacked_bytes_max = 64u << 20;  // one batch more
};

class StoredAttempt {
 public:
  static base::Result<std::shared_ptr<StoredAttempt>> open(store::Store& store, store::JobKey job,
                                                           std::uint64_t attempt,
                                                           const StoredLimits& limits = {});

  // In the order in which they came; empty: none.
  [[nodiscard]] const std::vector<StoredPart>& parts(const ingest::JournalId& journal) const;
  // The part's slots, until the next call.
  base::Result<std::span<const event::Record>> slots(const StoredPart& part);

 private:
  struct Unpacked {
    std::int64_t seq;
    std::vector<event::Record> slots;
  };
  StoredAttempt(store::Store& store, store::JobKey job, std::uint64_t attempt,
                const StoredLimits& limits)
      : store_(store), job_(job), attempt_(attempt), limits_(limits) {}
  base::Result<Unpacked> unpack(std::int64_t seq) const;

  store::Store& store_;
  store::JobKey job_;
  std::uint64_t attempt_;
  StoredLimits limits_;
  std::map<ingest::JournalId, std::vector<StoredPart>> parts_;
  std::unordered_map<std::int64_t, std::vector<std::byte>> kept_;  // by seq, as they are stored
  std::size_t kept_bytes_ = 0;
  std::list<Unpacked> unpacked_;  // the newest used first
  std::unordered_map<std::int64_t, std::list<Unpacked>::iterator> unpacked_by_seq_;
  std::size_t unpacked_bytes_ = 0;
};

}  // namespace headway::collector
