// How far a receiver has each journal, and what a batch is to it: the rule that makes ingest
// exactly once whatever is sent twice, late, cut or out of order. Pure; one owner, one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "ingest/batch.h"
#include "ingest/format.h"

namespace headway::ingest {

struct Progress {
  std::uint64_t attempt = 0;
  std::uint64_t slots_max = 0;  // by the journal's header
  std::uint64_t next_slot = 0;  // all before it are here
  ChunkRecord last{};           // the newest word on the journal's header

  [[nodiscard]] bool is_final() const { return (last.flags & kChunkFinal) != 0; }
};
using ProgressMap = std::map<JournalId, Progress>;

enum class Verdict : std::uint8_t {
  news,       // to be kept, and `known` has moved on
  duplicate,  // all of it is here
  gap,        // slots before it are missing: the sender has to go back to where `known` is
  nonsense,   // no sender of ours says that
};

struct Judgement {
  Verdict verdict = Verdict::duplicate;
  std::string why;  // of nonsense
};

// `job` and `attempt`: to which the batch was sent. `known`: of its journals, those that are known;
// changed only where the batch is news.
[[nodiscard]] Judgement judge(const Batch& batch, std::string_view job, std::uint64_t attempt,
                              ProgressMap& known);

}  // namespace headway::ingest
