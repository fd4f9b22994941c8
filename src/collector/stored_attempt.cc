#include "collector/stored_attempt.h"

#include <algorithm>
#include <utility>

#include "collector/stored_job.h"
#include "ingest/batch.h"

namespace headway::collector {

using base::Result;
using base::Status;
using event::Record;

namespace {

const std::vector<StoredPart> kNone;

std::string name_of(std::int64_t seq) {
  return "stored batch " + std::to_string(seq);
}

}  // namespace

Result<std::shared_ptr<StoredAttempt>> StoredAttempt::open(store::Store& store, store::JobKey job,
                                                           std::uint64_t attempt) {
  std::shared_ptr<StoredAttempt> out(new StoredAttempt(store, job, attempt));
  Status damage;
  const Status status = store.batches(job, attempt, 0, [&](const store::BatchRow& row) {
    auto batch = ingest::Batch::parse(row.bytes, name_of(row.seq));
    if (!batch.ok()) {
      damage = Status::corrupt(batch.status().message());
      return false;
    }
    std::uint32_t offset = 0;
    for (const ingest::ChunkRecord& chunk : batch->chunks) {
      if (chunk.slots > 0) {
        out->parts_[chunk.journal].push_back({row.seq, chunk.first_slot, chunk.slots, offset});
      }
      offset += chunk.slots;
    }
    return true;
  });
  if (!status.ok()) return status;
  if (!damage.ok()) return damage;
  return out;
}

const std::vector<StoredPart>& StoredAttempt::parts(const ingest::JournalId& journal) const {
  const auto found = parts_.find(journal);
  return found == parts_.end() ? kNone : found->second;
}

Result<std::span<const Record>> StoredAttempt::slots(const StoredPart& part) {
  auto found = std::ranges::find(unpacked_, part.seq, &Unpacked::seq);
  if (found == unpacked_.end()) {
    Unpacked fresh{part.seq, {}};
    Status damage = Status::corrupt(name_of(part.seq) + ": is gone");
    const Status status =
        store_.batches(job_, attempt_, part.seq - 1, [&](const store::BatchRow& row) {
          if (row.seq != part.seq) return false;
          auto batch = ingest::Batch::parse(row.bytes, name_of(row.seq));
          damage = batch.ok() ? ingest::unpack_slots(batch->packed, batch->header.slots,
                                                     fresh.slots, name_of(row.seq))
                              : batch.status();
          return false;
        });
    if (!status.ok()) return status;
    if (!damage.ok()) return damage;
    unpacked_bytes_ += fresh.slots.size() * sizeof(Record);
    unpacked_.push_front(std::move(fresh));
    while (unpacked_bytes_ > unpacked_bytes_max && unpacked_.size() > 1) {
      unpacked_bytes_ -= unpacked_.back().slots.size() * sizeof(Record);
      unpacked_.pop_back();
    }
  } else {
    unpacked_.splice(unpacked_.begin(), unpacked_, found);
  }
  const std::vector<Record>& slots = unpacked_.front().slots;
  if (std::uint64_t{part.offset} + part.slots > slots.size()) {
    return Status::corrupt(name_of(part.seq) + ": has fewer slots than it tells");
  }
  return std::span(slots).subspan(part.offset, part.slots);
}

}  // namespace headway::collector
