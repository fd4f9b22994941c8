// One attempt's attribution in progress: events in, in any interleaving of its streams, and the
// attempt as it stands out, at any time. Copyable, so that asking costs a copy of a few kilobytes
// and never a second look at the events.
//
// Ranks are combined by the critical rank. In start-up the last rank to get through a stage
// decides; in the loop, the time from the last rank's end of one step to the last rank's end of the
// next belongs to the rank that ended last: its waits are charged, the rest is training. Of ranks
// that end together, released by a collective, it is the one whose waits lasted longest.
//
// Pure; one owner, one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "timeline/attempt.h"
#include "timeline/attempt_end.h"
#include "timeline/rank_machine.h"
#include "timeline/saved_positions.h"

namespace headway::timeline {

class AttemptState {
 public:
  // A rank that is alive but never trains (an evaluator) stops holding the others up when this many
  // of their steps wait for it.
  static constexpr std::size_t waiting_steps_max = 4096;

  explicit AttemptState(const AttemptOptions& options);
  AttemptState(const AttemptState& other);
  AttemptState(AttemptState&&) = delete;
  AttemptState& operator=(const AttemptState&) = delete;

  // The index to name this rank by from now on. Ranks are added in ascending order, before any step
  // was combined.
  std::size_t add_rank(std::uint32_t rank, const std::string& host, bool device_times);
  void set_host(std::size_t index, const std::string& host) { ranks_[index].share.host = host; }
  [[nodiscard]] std::size_t ranks() const { return ranks_.size(); }

  void consume_agent(const event::Event& e);
  // Takes events of a rank until `queued_max` of its steps wait to be combined; returns how many.
  std::size_t consume(std::size_t index, std::span<const event::Event> events,
                      std::size_t queued_max = SIZE_MAX) {
    return ranks_[index].machine.consume(events, queued_max);
  }
  // The rank's stream is at its end: steps that it lacks now it lacks for good.
  void drain(std::size_t index);
  [[nodiscard]] std::size_t queued(std::size_t index) const {
    return ranks_[index].machine.queued();
  }
  [[nodiscard]] bool drained(std::size_t index) const { return ranks_[index].drained; }

  // Folds every step that all ranks have told about.
  void combine();

  // The attempt as it stands, or as it ended. `now_ns` and `last` as in AttemptOptions.
  [[nodiscard]] AttemptResult snapshot(std::optional<std::int64_t> now_ns, bool last) const;
  [[nodiscard]] AttemptResult finish();

  [[nodiscard]] bool missing_data() const;
  [[nodiscard]] bool begun() const { return begun_; }
  // What came late cannot be put where it belongs (a step that was combined without this rank, a
  // launch that differs from the one the ledger was begun with): the attempt must be attributed
  // anew from its journals.
  [[nodiscard]] bool stale() const;

 private:
  struct RankState {
    RankState(std::uint32_t rank, const MachineOptions& options, Facts* facts)
        : machine(options, facts) {
      share.rank = rank;
    }
    RankMachine machine;
    bool drained = false;
    RankShare share;
    std::int64_t cursor_ns = kNoTime;  // up to where share.sums goes

    [[nodiscard]] bool trains() const {
      return machine.has_step() || machine.loop_begin_ns() != kNoTime;
    }
    [[nodiscard]] bool at(std::int64_t generation, std::int64_t step) const {
      return machine.has_step() && machine.front().generation == generation &&
             machine.front().step == step;
    }
  };

  bool combine_next();
  void align_ranks();
  [[nodiscard]] bool must_wait() const;
  enum class Ended : std::uint8_t { yes, no, not_known_yet };
  [[nodiscard]] Ended ended_by_all(std::int64_t generation, std::int64_t step) const;
  [[nodiscard]] std::int64_t launch_by_facts() const;
  void begin_attempt();
  void begin_loop();
  void lay_init(std::int64_t to_ns);
  RankState& awaited_rank(RankState& last);
  void take_step(const StepRecord& step, std::int64_t end_ns);
  void share_step(const StepRecord& step, Bucket train);
  void first_step(const StepRecord& step, std::int64_t to_ns, Bucket train);
  void close();
  void lay_tail(const AttemptEnd& end);
  void lay_rank_tails(const AttemptEnd& end, const RankState* decider,
                      const std::vector<Segment>& rest, std::int64_t busy_end,
                      std::int64_t work_end);
  RankState* tail_decider(const AttemptEnd& end);
  void settle(const AttemptEnd& end);
  static std::vector<Segment> rest_of(RankState& r);
  [[nodiscard]] Bucket tail_bucket(Kind kind, const AttemptEnd& end) const;
  [[nodiscard]] std::int64_t position(const StepRecord& s) const {
    return options_.use_steps || s.data == HW_NO_DATA ? s.step : s.data;
  }
  void add_single(std::int64_t t0, std::int64_t t1, Bucket bucket);

  AttemptOptions options_;
  std::vector<RankState> ranks_;
  AttemptResult out_;
  bool begun_ = false;
  bool in_loop_ = false;
  std::int64_t cursor_ns_ = 0;  // the ledger is written up to here
  std::int64_t agent_last_ns_ = kNoTime;
  std::int64_t agent_beyond_ns_ = kNoTime;
  SavedPositions saves_;
  std::pair<std::int64_t, std::int64_t> last_key_;
  bool aligned_ = false;
  bool late_ = false;  // a rank told of a step after it was combined without it
};

}  // namespace headway::timeline
