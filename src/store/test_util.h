// For tests of stores: a job's journals as batches.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "record/test_util.h"
#include "store/store.h"

namespace headway::store {

struct Sender {
  explicit Sender(std::uint32_t rank, std::string in_job = "job", std::uint64_t attempt = 1)
      : job(std::move(in_job)) {
    journal.fixed.rank = rank;
    journal.fixed.attempt = attempt;
    std::memset(journal.fixed.job, 0, sizeof(journal.fixed.job));
    job.copy(journal.fixed.job, sizeof(journal.fixed.job) - 1);
    record::finish_header(journal.fixed);
  }
  // Of as many steps, from `first` on; with its head at the beginning.
  [[nodiscard]] std::vector<std::byte> batch(std::uint64_t first, std::uint32_t slots,
                                             std::uint32_t flags = 0) {
    while (journal.records.size() < first + slots) {
      const auto n = journal.records.size();
      journal.add(event::EventType::step_end, journal.anchor_ticks + 1000 * n,
                  static_cast<std::int64_t>(n));
    }
    ingest::BatchWriter writer;
    if (first == 0) writer.add_head(journal.fixed, "rank.hwj");
    ingest::ChunkRecord chunk{};
    chunk.journal = id();
    chunk.first_slot = first;
    chunk.slots = slots;
    chunk.flags = flags;
    chunk.cursor = first + slots;
    chunk.limit = journal.fixed.slots_max;
    writer.add_chunk(chunk, std::span(journal.records).subspan(first, slots));
    return writer.finish(0);
  }
  [[nodiscard]] ingest::JournalId id() const { return ingest::journal_id(journal.fixed); }

  std::string job;
  record::JournalBytes journal;
};

inline base::Result<Appended> append_one(Store& store, const std::vector<std::byte>& bytes,
                                         const std::string& job = "job", std::uint64_t attempt = 1,
                                         const std::string& tenant = "t",
                                         std::int64_t received_ns = 0) {
  auto batch = ingest::Batch::parse(bytes, "batch");
  EXPECT_TRUE(batch.ok()) << batch.status().message();
  const Append append{tenant, job, attempt, &*batch, bytes, received_ns};
  auto out = store.append({&append, 1});
  if (!out.ok()) return out.status();
  return out->front();
}

}  // namespace headway::store
