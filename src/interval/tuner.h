// When to save, decided while the job runs. Told of steps, saves and failures, it knows what a save
// costs (save_meter.h) and how often the job fails (rate.h), and says at the end of a step whether
// this is the one: `persist`, save on to storage, or `stage`, only into the replica in memory that
// outlives the process. A persist includes a stage, so `stage` is set with it.
//
// One tuner speaks for a job: one rank asks it and tells the others, or ranks would save different
// steps. The process that holds it dies with every failure it is there for: carry `memory()` over,
// together with the failure itself, into the settings of the next.
//
// Deterministic: `now_ns` is an argument, any steady clock. Bounded memory. One owner, one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "interval/cost.h"
#include "interval/rate.h"
#include "interval/save_meter.h"

namespace headway::interval {

// What is worth knowing in the next attempt.
struct TunerMemory {
  History history;
  std::optional<SaveCost> cost;  // nullopt: no save has been seen
};

struct TunerSettings {
  Bounds bounds{.min_s = 10, .max_s = 6 * 3600, .stage_min_s = 1};
  int in_flight_max = 1;     // saves on their way to storage at once
  bool replica = false;      // staged state outlives a process
  double first_save_s = 60;  // while no save has been seen: the sooner, the sooner costs are known
  Prior prior;
  History family;
  TunerMemory earlier;  // attempts of this job
};

struct Decision {
  bool stage = false;
  bool persist = false;
  bool operator==(const Decision&) const = default;
};

class Tuner {
 public:
  static constexpr std::size_t saves_max = SaveMeter::open_saves_max;

  // The loop begins at `now_ns`, from a state that is safe (restored) or worth nothing (fresh).
  Tuner(const TunerSettings& settings, std::int64_t now_ns);

  // `other_ns` of the time since the step before was neither this step nor a save.
  void step_ended(std::int64_t now_ns, std::int64_t step, std::int64_t other_ns = 0);
  // Ask after step_ended. Asking changes nothing; a save that was started does.
  [[nodiscard]] Decision should_save(std::int64_t now_ns, std::int64_t step) const;

  void save_started(std::int64_t now_ns, std::int64_t step, bool persist);
  // The loop may go on: the state of `step` is staged.
  void save_returned(std::int64_t now_ns, std::int64_t step);
  // The state of `step` is on storage.
  void save_durable(std::int64_t now_ns, std::int64_t step);
  // It came to nothing. The next try is due as if it had not been, but not before bounds.min_s.
  void save_failed(std::int64_t now_ns, std::int64_t step);
  // The job failed and this process goes on; what was on its way is gone.
  void failed(std::int64_t now_ns, Tier tier);

  [[nodiscard]] Plan plan() const;
  [[nodiscard]] SaveCost cost() const;
  [[nodiscard]] const RateEstimate& rate() const { return rate_; }
  [[nodiscard]] TunerMemory memory() const;

 private:
  struct Save {
    std::int64_t step = 0;
    std::int64_t started_ns = 0;
    std::int64_t persisted_before_ns = 0;
    std::int64_t returned_ns = 0;
    bool persist = false;
    bool returned = false;  // the loop goes on
  };
  Save* find(std::int64_t step);
  void drop(std::int64_t step);
  void pass_time(std::int64_t now_ns);
  // Saves on their way. One that is not done after bounds.max_s holds up no other.
  [[nodiscard]] std::size_t persisting(std::int64_t now_ns) const;

  TunerSettings settings_;
  RateEstimate rate_;
  SaveMeter meter_;
  RecentMean stage_cost_;
  std::vector<Save> saves_;
  std::int64_t seen_ns_;       // up to which time has been counted
  std::int64_t step_from_ns_;  // where the step that runs began
  std::int64_t blocked_ns_ = 0;
  std::int64_t staged_ns_, persisted_ns_;  // when the newest of each let the loop go on
  std::optional<std::int64_t> saved_step_;
  std::optional<std::int64_t> failed_ns_;  // when the newest save came to nothing
  double step_s_ = 0;                      // the last one's length
};

}  // namespace headway::interval
