// What to do when a rank ends, a signal comes or time runs out: the rules of supervision without a
// system call. One AttemptPolicy lives as long as one attempt; `now` is always an argument, in ns
// of any steady clock. Single-threaded.
//
//   running ──a rank fails──▶ tearing_down ──grace over──▶ killing
//      │                          SIGTERM to the rest         SIGKILL to the rest
//      ├──stop signal──▶ stopping ──second stop signal, or the stop grace over──▶ killing
//      ├──another node failed──▶ tearing_down, without a failure of our own
//      └──fenced──▶ killing
//
// The rest of a group are told at once when one fails: a rank that waits in a collective cannot run
// Python, so waiting longer saves nothing. A stop asked for from outside is another matter: a rank
// may be writing its last checkpoint, so the clock starts only when the first rank has ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headway::agent {

struct RankEnd {
  int exit_code = 0;
  int signal = 0;
  [[nodiscard]] bool clean() const { return exit_code == 0 && signal == 0; }
};

// Of a rank that hung and was ended by us. No signal's, and among those that schedulers try again.
inline constexpr int kExitHang = 200;

// As a shell gives it: 128 + signal.
int shell_code(const RankEnd& end);
// "exited with code 3", "was killed by SIGKILL".
std::string describe_end(const RankEnd& end);

struct EndedRank {
  int rank = 0;
  RankEnd end;
  bool in_tear_down = false;  // after the first failure, or after somebody asked us to stop
};

struct Outcome {
  std::optional<int> failed_rank;  // the first to end badly
  RankEnd failed_end;
  bool hung = false;            // it did not end by itself
  std::vector<EndedRank> ends;  // in their order
  int stop_signal = 0;          // somebody asked us to stop
  bool for_others = false;      // ended because of another node: what followed is no failure here
  [[nodiscard]] bool failed() const { return failed_rank.has_value(); }
};

class AttemptPolicy {
 public:
  static constexpr std::int64_t stop_grace_min_ns = 30'000'000'000;  // as torchrun gives

  AttemptPolicy(int ranks, std::int64_t grace_ns);

  // Each returns the signal to send to every rank that is still alive, 0 for none.
  int on_rank_end(int rank, const RankEnd& end, std::int64_t now_ns);
  // A stop signal (SIGINT, SIGTERM, SIGHUP) or another one to pass on. `delivered`: the ranks share
  // our terminal and have had it already; it is only noted, and only if it ends them.
  int on_signal(int signal, bool delivered, std::int64_t now_ns);
  int on_deadline(std::int64_t now_ns);
  // The ranks do not get on because of this one: it counts as failed, and all are ended.
  int on_hang(int rank, std::int64_t now_ns);
  // Another node's ranks are lost or come anew: ours wait in a collective that will not return.
  int on_peer_failure(std::int64_t now_ns);
  // From now on another node may start our successors: nothing of ours may be left.
  int on_fenced();

  [[nodiscard]] std::optional<std::int64_t> deadline_ns() const { return deadline_ns_; }
  [[nodiscard]] bool done() const { return live_ == 0; }
  [[nodiscard]] bool alive(int rank) const { return !ended_[static_cast<std::size_t>(rank)]; }
  // Somebody has asked us to stop, and no rank had failed before.
  [[nodiscard]] bool stopping() const { return state_ == State::stopping; }
  // Somebody has asked us twice to stop.
  [[nodiscard]] bool hurried() const { return hurried_; }
  // The end came from us, not from the rank.
  [[nodiscard]] bool tearing_down() const { return state_ != State::running; }
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }

 private:
  enum class State { running, tearing_down, stopping, killing };

  std::int64_t grace_ns_;
  State state_ = State::running;
  std::vector<bool> ended_;
  int live_;
  bool hurried_ = false;
  int noted_signal_ = 0;
  std::optional<std::int64_t> deadline_ns_;
  Outcome outcome_;
};

// After an attempt: try again, or what to answer.
struct Verdict {
  bool restart = false;
  bool job_ends = true;  // false: a scheduler may start it again
  int exit_code = 0;
};
Verdict judge(const Outcome& outcome, bool may_restart, bool under_scheduler);

// hw_origin of a failure as far as the launcher can tell; the hook and the logs may know more.
int failure_origin(const Outcome& outcome, bool under_scheduler);

bool is_stop_signal(int signal);

}  // namespace headway::agent
