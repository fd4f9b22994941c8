#include "agent/step_times.h"

#include <algorithm>

#include "base/job_path.h"
#include "headway/headway.h"
#include "record/journal_reader.h"

namespace headway::agent {

using event::EventType;

void StepGaps::take(const event::Event& event) {
  if ((event.type == EventType::begin || event.type == EventType::end) &&
      event.name == HW_PHASE_COMPILE) {
    compiled_ = true;
  }
  if (event.lane != 0 || event.type != EventType::step_end) return;
  if (steps_ > 0 && event.a == last_step_) return;
  const std::int64_t gap_ns = event.t_ns - last_ns_;
  if (steps_ > 0 && !compiled_ && gap_ns > 0 && ++seen_ > first_left_out) {
    if (gaps_ns_.size() < gaps_max) {
      gaps_ns_.push_back(gap_ns);
    } else {
      gaps_ns_[at_++ % gaps_max] = gap_ns;
    }
  }
  ++steps_;
  last_step_ = event.a;
  last_ns_ = event.t_ns;
  compiled_ = false;
}

StepTimes StepGaps::times() const {
  StepTimes out;
  out.steps = steps_;
  out.measured = static_cast<std::int64_t>(gaps_ns_.size());
  if (gaps_ns_.empty()) return out;
  std::vector<std::int64_t> sorted = gaps_ns_;
  std::sort(sorted.begin(), sorted.end());
  out.median_ns = sorted[sorted.size() / 2];
  out.spread_ns = sorted[sorted.size() * 3 / 4] - sorted[sorted.size() / 4];
  return out;
}

StepTimes read_step_times(const std::string& attempt_dir, int first_rank, int ranks) {
  StepTimes slowest;
  for (int rank = first_rank; rank < first_rank + std::min(ranks, kStepRanksMax); ++rank) {
    event::NameTable names;
    auto reader = record::JournalReader::open(
        attempt_dir + '/' + base::rank_journal_stem(static_cast<std::uint32_t>(rank)) +
            std::string(base::kJournalSuffix),
        names);
    if (!reader.ok()) continue;
    (*reader)->set_final();
    StepGaps gaps;
    for (auto events = (*reader)->next(); !events.empty(); events = (*reader)->next()) {
      for (const event::Event& event : events) gaps.take(event);
    }
    const StepTimes times = gaps.times();
    if (times.median_ns > slowest.median_ns || slowest.steps == 0) slowest = times;
  }
  return slowest;
}

}  // namespace headway::agent
