// What an attempt's streams say besides how time was spent: marks, ends, checkpoints, attributes,
// and everything that did not make sense, counted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "event/event.h"
#include "timeline/segment.h"

namespace headway::timeline {

// Bad input never fails an attribution: it is counted here and shown in `coverage`.
struct Anomalies {
  std::uint64_t out_of_order = 0;   // earlier than its thread's one before by over 1 ms
  std::uint64_t clamped_times = 0;  // beyond what can be reckoned with
  std::uint64_t unmatched_ends = 0;
  std::uint64_t unclosed_spans = 0;  // ended by an outer end
  std::uint64_t too_deep = 0;        // nesting beyond depth_max
  std::uint64_t unended_steps = 0;
  std::uint64_t steps_backwards = 0;  // within one attempt
  std::uint64_t merged_segments = 0;  // detail given up to stay within bounds
  std::uint64_t device_times_missing = 0;
  std::uint64_t partial_steps = 0;  // a rank's record of a step that others have is missing
  std::uint64_t missing_ends = 0;   // an attempt without failure or exit before the next one
  std::uint64_t events_after_end = 0;
  std::uint64_t overflowed_facts = 0;  // marks or checkpoints beyond facts_max
  std::uint64_t unknown_events = 0;

  Anomalies& operator+=(const Anomalies& o);
  [[nodiscard]] std::uint64_t total() const;
};

struct EndMark {
  std::int64_t t_ns = 0;
  event::EndInfo info;
  bool from_agent = false;
};

struct Position {
  std::int64_t t_ns = 0;
  std::int64_t step = 0;
  std::int64_t data = 0;  // HW_NO_DATA: not stated
  event::NameId tier = 0;
};

struct Hang {
  std::int64_t t_ns = 0;
  std::int64_t since_ns = 0;
  std::uint32_t rank = HW_RANK_UNKNOWN;
};

struct SaveTime {
  std::int64_t step = 0;
  std::int64_t t_ns = 0;
};

struct Facts {
  static constexpr std::size_t facts_max = 4096;

  std::optional<std::int64_t> submitted_ns, resources_available_ns, allocated_ns, launcher_start_ns,
      trainer_start_ns, preempt_notice_ns, job_end_ns;
  std::vector<EndMark> failures;
  std::vector<EndMark> exits;
  std::vector<Position> restores;
  std::vector<Hang> hangs;
  std::map<event::NameId, event::NameId> attrs;

  // Checkpoints: totals, and the newest of each kind. A save is one step that reached a state.
  std::uint64_t saves = 0;
  std::set<std::int64_t> failed_saves;  // steps whose save came to nothing, or not beyond memory
  std::optional<Position> last_durable;
  std::optional<Position> last_staged;
  std::optional<SaveTime> first_save, last_save;

  Anomalies anomalies;

  // Takes in a mark, attr, restore, hang or checkpoint. `rank` is the stream's.
  void take(const event::Event& e, std::uint32_t rank);
};

}  // namespace headway::timeline
