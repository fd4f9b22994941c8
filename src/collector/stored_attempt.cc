#include "collector/stored_attempt.h"

#include <utility>

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
                                                           std::uint64_t attempt,
                                                           const StoredLimits& limits) {
  std::shared_ptr<StoredAttempt> out(new StoredAttempt(store, job, attempt, limits));
  Status damage;
  const Status status = store.batches(job, attempt, 0, [&](const store::BatchRow& row) {
    auto batch = ingest::Batch::parse(row.bytes, name_of(row.seq));
    if (!batch.ok()) {
      damage = Status::corrupt(batch.status().message());
      return false;
    }
    if (out->kept_bytes_ + row.bytes.size() <= limits.kept_bytes_max) {
      out->kept_bytes_ += row.bytes.size();
      out->kept_.emplace(row.seq, row.bytes);
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

Result<StoredAttempt::Unpacked> StoredAttempt::unpack(std::int64_t seq) const {
  Unpacked out{seq, {}};
  const auto take = [&](const std::vector<std::byte>& bytes) {
    auto batch = ingest::Batch::parse(bytes, name_of(seq));
    if (!batch.ok()) return batch.status();
    return ingest::unpack_slots(batch->packed, batch->header.slots, out.slots, name_of(seq));
  };
  Status damage = Status::corrupt(name_of(seq) + ": is gone");
  if (const auto kept = kept_.find(seq); kept != kept_.end()) {
    damage = take(kept->second);
  } else {
    const Status status = store_.batches(job_, attempt_, seq - 1, [&](const store::BatchRow& row) {
      if (row.seq == seq) damage = take(row.bytes);
      return false;
    });
    if (!status.ok()) return status;
  }
  if (!damage.ok()) return damage;
  return out;
}

Result<std::span<const Record>> StoredAttempt::slots(const StoredPart& part) {
  const auto found = unpacked_by_seq_.find(part.seq);
  if (found == unpacked_by_seq_.end()) {
    auto fresh = unpack(part.seq);
    if (!fresh.ok()) return fresh.status();
    unpacked_bytes_ += fresh->slots.size() * sizeof(Record);
    unpacked_.push_front(std::move(*fresh));
    unpacked_by_seq_.emplace(part.seq, unpacked_.begin());
    while (unpacked_bytes_ > limits_.unpacked_bytes_max && unpacked_.size() > 1) {
      unpacked_bytes_ -= unpacked_.back().slots.size() * sizeof(Record);
      unpacked_by_seq_.erase(unpacked_.back().seq);
      unpacked_.pop_back();
    }
  } else {
    unpacked_.splice(unpacked_.begin(), unpacked_, found->second);
  }
  const std::vector<Record>& slots = unpacked_.front().slots;
  if (std::uint64_t{part.offset} + part.slots > slots.size()) {
    return Status::corrupt(name_of(part.seq) + ": has fewer slots than it tells");
  }
  return std::span(slots).subspan(part.offset, part.slots);
}

}  // namespace headway::collector
