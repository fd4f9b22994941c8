#include "ingest/progress.h"

#include <utility>

#include "base/hash.h"

namespace headway::ingest {
namespace {

Judgement nonsense(const JournalId& id, const char* why) {
  return {Verdict::nonsense, "journal " + base::hex(id) + ": " + why};
}

// Beyond the slots: has the journal's header anything new to say? Never backwards: an old batch
// that comes again is not.
bool is_newer(const ChunkRecord& chunk, const ChunkRecord& last) {
  return (chunk.flags & ~last.flags) != 0 || chunk.cursor > last.cursor ||
         chunk.limit > last.limit || chunk.dropped > last.dropped ||
         chunk.names_dropped > last.names_dropped;
}

}  // namespace

Judgement judge(const Batch& batch, std::string_view job, std::uint64_t attempt,
                ProgressMap& known) {
  ProgressMap after = known;
  bool news = false;
  for (const HeadRecord& head : batch.heads) {
    const JournalId id = journal_id(head.journal);
    if (head.journal.job != job || head.journal.attempt != attempt) {
      return nonsense(id, "is of another job or attempt than the batch");
    }
    const auto [it, fresh] = after.try_emplace(id);
    if (!fresh) continue;
    it->second.attempt = attempt;
    it->second.slots_max = head.journal.slots_max;
    news = true;
  }
  bool gap = false;
  for (const ChunkRecord& chunk : batch.chunks) {
    const auto found = after.find(chunk.journal);
    if (found == after.end()) {
      gap = true;
      continue;
    }
    Progress& progress = found->second;
    const std::uint64_t end = chunk.first_slot + chunk.slots;
    if (progress.attempt != attempt) return nonsense(chunk.journal, "is of another attempt");
    if (end > progress.slots_max)
      return nonsense(chunk.journal, "is longer than its header allows");
    if (chunk.first_slot > progress.next_slot) {
      gap = true;
      continue;
    }
    if (end > progress.next_slot) {
      if (progress.is_final()) return nonsense(chunk.journal, "goes on after its end");
      progress.next_slot = end;
      news = true;
    }
    if (end == progress.next_slot && is_newer(chunk, progress.last)) {
      progress.last = chunk;
      news = true;
    }
  }
  if (gap) return {Verdict::gap, {}};
  if (!news) return {Verdict::duplicate, {}};
  known = std::move(after);
  return {Verdict::news, {}};
}

}  // namespace headway::ingest
