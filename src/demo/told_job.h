// A planned job as its machines would have recorded it: attempt after attempt, a journal for every
// rank and one for the launcher. Pure.
#pragma once

#include <cstddef>
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

// A batch that only says that the launcher is there, as senders do where nothing is news: steps may
// be minutes apart. Empty: it is not there yet, or not any more.
[[nodiscard]] std::vector<std::byte> sign_of_life(const ToldAttempt& attempt,
                                                  std::span<const std::size_t> sent,
                                                  std::int64_t now_ns);

}  // namespace headway::demo
