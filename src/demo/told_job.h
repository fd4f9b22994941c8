// A planned job as its machines would have recorded it: attempt after attempt, a journal for every
// rank and one for the launcher. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "demo/journal_maker.h"
#include "demo/plan.h"

namespace headway::demo {

struct ToldAttempt {
  std::uint64_t id = 0;
  std::vector<JournalMaker> journals;  // the launcher's first
};

struct ToldJob {
  std::vector<ToldAttempt> attempts;
  std::int64_t end_ns = 0;  // of all that it does
};

// To its end, also where that lies ahead.
[[nodiscard]] ToldJob tell(const PlannedJob& plan);

// What of an attempt is news at `now_ns`, as batches; `sent` is how many records of each journal
// are known already, and is moved on. All of a journal that ends before `now_ns` is told as final.
[[nodiscard]] std::vector<std::vector<std::byte>> batches_until(const ToldAttempt& attempt,
                                                                std::vector<std::size_t>& sent,
                                                                std::int64_t now_ns);

}  // namespace headway::demo
