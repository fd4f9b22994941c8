// Going over the rows of a snapshot, job by job: which starts a job has had, and which it is still
// waiting for. Inline, since every question does it for every row. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/wide.h"
#include "fleet/selection.h"
#include "fleet/table.h"

namespace headway::fleet {

using base::Int128;

// Device-nanoseconds as device-hours.
[[nodiscard]] inline double device_hours(Int128 device_ns) {
  return static_cast<double>(device_ns) / 3.6e12;
}

template <typename F>  // f(const Chunk&, const Chunk::Job&)
void each_job(const Snapshot& snapshot, const Filter& filter, F&& f) {
  for (const auto& chunk : snapshot.chunks()) {
    if (!filter.has_chunk(*chunk)) continue;
    for (const Chunk::Job& job : chunk->jobs) {
      if (job.live && job.count != 0) f(*chunk, job);
    }
  }
}

// The days of a filter on which there can be anything; from == to: none.
struct Days {
  std::int32_t from = 0, to = 0;
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(to - from); }
  [[nodiscard]] bool has(std::int32_t day) const { return day >= from && day < to; }
};
// The latest `days_max` of them.
[[nodiscard]] inline Days days_of(const Snapshot& snapshot, const Filter& filter,
                                  std::int32_t days_max) {
  Days days{filter.to_day(), filter.from_day()};
  for (const auto& chunk : snapshot.chunks()) {
    if (!filter.has_chunk(*chunk)) continue;
    days.from = std::min(days.from, std::max(chunk->day_min, filter.from_day()));
    days.to = std::max(days.to, std::min(chunk->day_max + 1, filter.to_day()));
  }
  if (days.from >= days.to) return {};
  days.from = std::max(days.from, days.to - days_max);
  return days;
}

// A Time to Start or Recover. One that is not over yet, or never will be because the job gave up,
// is at least this long: leaving it out would make starts look shorter than they are.
struct Wait {
  std::uint32_t at = 0;  // the attempt that it is counted with
  std::int64_t from_ns = 0, length_ns = 0;
  bool recovery = false;
  bool over = true;
  std::uint32_t first = 0;  // not over: attempts [first, at] are what it has lasted
};

// Follows the attempts of a job in order, by the rule of facts_of.h: until a job has trained it is
// starting, whatever befalls it; from then on it recovers from the first failure since it trained.
template <typename F>  // f(const Wait&)
void each_wait(const Chunk& chunk, const Chunk::Job& job, F&& f) {
  std::int64_t since_ns = -1;  // of a failure that nobody has recovered from
  std::uint32_t since_at = job.first;
  bool trained = false;
  const std::uint32_t end = job.first + job.count;
  for (std::uint32_t at = job.first; at < end; ++at) {
    if (const std::uint32_t row = chunk.start[at]; row != Chunk::kNone) {
      f(Wait{at, chunk.from_ns[row], chunk.trained_ns[row] - chunk.from_ns[row],
             chunk.recovery[row] != 0, true, at});
      trained = true;
      since_ns = -1;
    }
    if (trained && since_ns < 0 && chunk.ending[at] == Ending::failed) {
      const std::uint32_t row = chunk.failure[at];
      since_ns = row == Chunk::kNone ? chunk.end_ns[at] : chunk.failures[row].t_ns;
      since_at = at;
    }
  }
  const std::uint32_t last = end - 1;
  if (chunk.ending[last] == Ending::clean || chunk.start[last] != Chunk::kNone) return;
  Wait open{last, 0, 0, trained, false, trained ? since_at + 1 : job.first};
  if (!trained) {  // from the allocation on: after what the scheduler took
    std::int64_t scheduling_ns = 0;
    for (std::uint32_t i = chunk.first_slice[job.first]; i < chunk.first_slice[job.first + 1];
         ++i) {
      scheduling_ns += chunk.slice_buckets(i)[timeline::Bucket::scheduling];
    }
    open.from_ns = std::min(chunk.begin_ns[job.first] + scheduling_ns, chunk.end_ns[last]);
  } else if (since_ns >= 0 && since_at != last) {
    open.from_ns = since_ns;
  } else {
    return;
  }
  open.length_ns = std::max<std::int64_t>(0, chunk.end_ns[last] - open.from_ns);
  f(open);
}

}  // namespace headway::fleet
