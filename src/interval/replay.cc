#include "interval/replay.h"

#include <algorithm>
#include <numeric>

namespace headway::interval {
namespace {

// The loop of one attempt, lived again.
class Run {
 public:
  Run(const RecordedAttempt& attempt, const Plan& plan, const SaveCost& cost, bool replica)
      : attempt_(attempt), plan_(plan), cost_(cost), replica_(replica) {
    out_.wall_s = attempt.wall_s;
  }

  Replayed live() {
    const std::size_t recorded = attempt_.steps_s.size();
    if (recorded == 0 || attempt_.wall_s <= 0) return out_;
    // What comes after the recorded steps; never so short that it would take for ever.
    const double mean_s =
        std::max(std::accumulate(attempt_.steps_s.begin(), attempt_.steps_s.end(), 0.0) /
                     static_cast<double>(recorded),
                 attempt_.wall_s / static_cast<double>(RecordedAttempt::steps_max));
    for (std::size_t i = 0; t_s_ < attempt_.wall_s; ++i) {
      const double step_s = i < recorded ? attempt_.steps_s[i] : mean_s;
      if (t_s_ + step_s > attempt_.wall_s) {
        work_s_ += attempt_.wall_s - t_s_;  // cut off: not saved either
        t_s_ = attempt_.wall_s;
        break;
      }
      t_s_ += step_s;
      work_s_ += step_s;
      consider(step_s);
    }
    if (attempt_.failure) fail(*attempt_.failure);
    return out_;
  }

 private:
  void consider(double step_s) {
    while (!on_their_way_.empty() && on_their_way_.front().durable_s <= t_s_) {
      durable_work_s_ = on_their_way_.front().work_s;
      on_their_way_.erase(on_their_way_.begin());
    }
    const bool room =
        on_their_way_.size() < static_cast<std::size_t>(std::max(1, cost_.in_flight_max));
    if (room && t_s_ - persisted_s_ + step_s / 2 >= plan_.persist_s) {
      if (!pay(cost_.effective_s())) return;
      ++out_.saves;
      staged_work_s_ = work_s_;
      on_their_way_.push_back({work_s_, t_s_ + cost_.persist_lag_s});
      persisted_s_ = staged_s_ = t_s_;
    } else if (replica_ && plan_.stage_s < plan_.persist_s &&
               t_s_ - staged_s_ + step_s / 2 >= plan_.stage_s) {
      if (!pay(cost_.stage_s)) return;
      staged_work_s_ = work_s_;
      staged_s_ = t_s_;
    }
  }

  // False when the attempt ended on the way.
  bool pay(double seconds) {
    const double left_s = attempt_.wall_s - t_s_;
    out_.saving_s += std::min(seconds, left_s);
    t_s_ += std::min(seconds, left_s);
    return seconds < left_s;
  }

  void fail(Tier tier) {
    for (const OnItsWay& save : on_their_way_) {
      if (save.durable_s <= t_s_) durable_work_s_ = save.work_s;
    }
    const Answer usual = tier == Tier::process ? Answer::staged : Answer::durable;
    const bool staged = replica_ && attempt_.answer.value_or(usual) == Answer::staged;
    out_.lost_s = work_s_ - (staged ? std::max(staged_work_s_, durable_work_s_) : durable_work_s_);
    out_.failures = 1;
  }

  struct OnItsWay {
    double work_s, durable_s;
  };

  const RecordedAttempt& attempt_;
  const Plan plan_;
  const SaveCost cost_;
  const bool replica_;
  Replayed out_;
  double t_s_ = 0, work_s_ = 0;
  double persisted_s_ = 0, staged_s_ = 0;
  double staged_work_s_ = 0, durable_work_s_ = 0;
  std::vector<OnItsWay> on_their_way_;  // at most in_flight_max, the oldest first
};

}  // namespace

void RecordedAttempt::add_step(double seconds) {
  const auto length = static_cast<float>(seconds);
  if (folded_ > 0 && folded_ < fold_) {
    steps_s.back() += length;
    ++folded_;
    return;
  }
  if (steps_s.size() >= steps_max) {
    for (std::size_t i = 0; i < steps_max / 2; ++i)
      steps_s[i] = steps_s[2 * i] + steps_s[2 * i + 1];
    steps_s.resize(steps_max / 2);
    fold_ *= 2;
  }
  steps_s.push_back(length);
  folded_ = 1;
}

Replayed& Replayed::operator+=(const Replayed& other) {
  wall_s += other.wall_s;
  saving_s += other.saving_s;
  lost_s += other.lost_s;
  saves += other.saves;
  failures += other.failures;
  return *this;
}

Replayed replay(const RecordedAttempt& attempt, const Plan& plan, const SaveCost& cost,
                bool replica) {
  return Run(attempt, plan, cost, replica).live();
}

Replayed replay(const std::vector<RecordedAttempt>& attempts, const Plan& plan,
                const SaveCost& cost, bool replica) {
  Replayed out;
  for (const RecordedAttempt& attempt : attempts) out += replay(attempt, plan, cost, replica);
  return out;
}

}  // namespace headway::interval
