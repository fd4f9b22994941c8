// What the ranks of the running attempt are doing, read from their journals while they write them.
// Nothing in the trainer is touched for it. Main thread only; a look costs the records written
// since the last one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "event/event.h"
#include "record/journal_reader.h"

namespace headway::agent {

// One rank, as of the last look. Times are real-time ns, as events have them.
struct RankState {
  bool reports = false;              // it has a journal
  std::uint64_t events = 0;          // of the training thread
  std::int64_t last_ns = 0;          // the last of them
  std::optional<std::int64_t> step;  // finished last
  std::optional<std::int64_t> data;
  std::int64_t steps = 0;   // finished in this attempt
  std::uint16_t phase = 0;  // the innermost span that is open; 0: none
  bool between = false;     // a step is done and, unlike before, nothing of the next has begun
  std::int64_t step_gap_max_ns = 0;  // the longest from one step's end to the next one's
};

class RankProgress {
 public:
  // `count` ranks from `first` on. An empty folder: nothing can be known.
  void open(const std::string& attempt_dir, int count, int first = 0);
  void look();
  [[nodiscard]] const std::vector<RankState>& ranks() const { return states_; }
  // Has every rank finished so many steps in this attempt?
  [[nodiscard]] bool all_stepped(std::int64_t steps) const;
  // The highest data position that all ranks that report have finished.
  [[nodiscard]] std::optional<std::int64_t> trained() const;

 private:
  struct Followed {
    std::string path;
    std::unique_ptr<record::JournalReader> reader;
    std::vector<std::uint16_t> open_phases;
    std::int64_t last_step_ns = 0;
    bool opens_steps = false;  // it records something between the end of one step and the next
  };
  static void take(const event::Event& event, Followed& rank, RankState& state);

  event::NameTable names_;
  std::vector<Followed> followed_;
  std::vector<RankState> states_;
};

}  // namespace headway::agent
