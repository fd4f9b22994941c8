// The journals that a batch speaks of, and how far they are. Pure.
#pragma once

#include "ingest/batch.h"
#include "ingest/progress.h"

namespace headway::store {

// Some may come twice.
template <typename Do>
void each_journal(const ingest::Batch& batch, const Do& todo) {
  for (const ingest::HeadRecord& head : batch.heads) todo(ingest::journal_id(head.journal));
  for (const ingest::ChunkRecord& chunk : batch.chunks) todo(chunk.journal);
}

// Of those that are known, the batch's: whoever judges it need not look at the others.
inline ingest::ProgressMap known_to(const ingest::Batch& batch, const ingest::ProgressMap& known) {
  ingest::ProgressMap out;
  each_journal(batch, [&](const ingest::JournalId& id) {
    const auto found = known.find(id);
    if (found != known.end()) out[id] = found->second;
  });
  return out;
}

}  // namespace headway::store
