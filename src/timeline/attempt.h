// One attempt of a job, attributed: all its ranks' streams in, a ledger and the attempt's facts
// out. The unit of work and of merging. Pure: reads only its sources, no clock.
// attempt_state.h says how ranks are combined.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "event/stream.h"
#include "timeline/facts.h"
#include "timeline/ledger.h"

namespace headway::timeline {

struct AttemptOptions {
  std::int64_t id = 0;
  std::int64_t floor_ns = -kTimeMax;    // the end of the attempt before: nothing counts before it
  std::int64_t cut_ns = INT64_MAX;      // a higher attempt's launch
  std::int64_t high_water = INT64_MIN;  // data consumed by the attempts before
  std::optional<std::int64_t> now_ns;   // the job is alive; only for its last attempt
  bool use_steps = false;               // `data` is not known throughout: step numbers serve
  bool recovery = false;  // after an interruption: what precedes its first step is its price
  bool last = true;
};

enum class Outcome : std::uint8_t { running, clean, failed };

struct Failure {
  std::int64_t t_ns = 0;
  event::EndInfo info;  // origin is never HW_ORIGIN_NONE
};

struct RankShare {
  std::uint32_t rank = 0;
  std::string host;
  Sums sums;  // this rank's own partition of launch to end
  std::uint64_t steps = 0;
  std::uint64_t critical_steps = 0;  // steps that it ended last
  std::int64_t held_up_ns = 0;       // by how much later than the next-to-last
};

struct CriticalStage {
  event::PhaseId phase = 0;
  std::uint32_t rank = 0;
  std::int64_t held_up_ns = 0;
};

// Training time of finished steps, what was carved out of them left out: exact count, sum and
// extremes, and a histogram of 16 bins an octave.
struct StepTimes {
  std::uint64_t count = 0;
  std::int64_t sum_ns = 0, min_ns = 0, max_ns = 0;
  std::array<std::uint32_t, 64 * 16> bins{};

  void add(std::int64_t ns);
  StepTimes& operator+=(const StepTimes& o);
  // Upper edge of the bin that holds quantile q; 0 when empty. Within 1/16 of the truth.
  [[nodiscard]] std::int64_t quantile_ns(double q) const;
};

struct StreamReport {
  event::StreamInfo info;
  event::StreamLoss loss;
};

struct AttemptResult {
  std::int64_t id = 0;
  Facts facts;
  std::int64_t launch_ns = 0;  // where launcher_init begins
  std::int64_t end_ns = 0;
  bool any_event = false;
  Ledger ledger;  // launch to end
  Outcome outcome = Outcome::running;
  std::optional<Failure> failure;
  std::int64_t failure_pre_ns = 0;   // recovery and replay: the price of the failure before
  std::int64_t failure_post_ns = 0;  // interrupted step, hang and tear-down of its own failure

  std::optional<std::int64_t> first_trained_ns;  // where Time to Start ends
  std::optional<std::int64_t> first_effective_ns;
  std::uint64_t steps = 0;
  std::uint64_t replayed_steps = 0;
  std::int64_t first_step = 0, last_step = 0;
  std::int64_t last_step_end_ns = kNoTime;                      // of all ranks
  std::int64_t first_data = 0, second_data = 0, last_data = 0;  // steps, where use_steps
  std::int64_t high_water = INT64_MIN;                          // after this attempt
  std::int64_t train_ns = 0;                            // finished-step time: effective + replay
  std::map<std::int64_t, std::int64_t> saved_train_ns;  // position of a save → train_ns up to it
  std::map<std::int64_t, std::int64_t> saved_data;      // step of a save → its position
  StepTimes step_times;

  std::uint32_t ranks_expected = 0;
  std::uint32_t ranks_reporting = 0;
  std::vector<RankShare> ranks;
  std::vector<CriticalStage> critical_stages;
  std::map<event::NameId, std::int64_t> user_spans;
  std::vector<StreamReport> streams;
  std::int64_t overlap_ns = 0;
  bool missing_data = false;
  bool missing_launcher_start = false;

  // Finished-step time beyond position `data`.
  [[nodiscard]] std::int64_t unsaved_beyond(std::int64_t data) const;
};

// Whether an attempt that follows `before` is a recovery. After a clean end somebody chose to go
// on, and its start-up is nobody's failure.
[[nodiscard]] inline bool is_recovery_after(const AttemptResult& before) {
  return before.outcome != Outcome::clean;
}

// `streams` are this attempt's only. They are opened here.
[[nodiscard]] AttemptResult attribute_attempt(const std::vector<const event::Stream*>& streams,
                                              const AttemptOptions& options);

// A cheap look at the head of a stream, before the real pass.
struct Prescan {
  std::optional<std::int64_t> launcher_start_ns;
  std::optional<std::int64_t> first_trainer_event_ns;  // any but the marks before the launch
  bool device_times = false;
};
[[nodiscard]] Prescan prescan(const event::Stream& stream);

}  // namespace headway::timeline
