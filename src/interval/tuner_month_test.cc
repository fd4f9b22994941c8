// A month of a job that fails, restarts and carries its tuner's memory over, with what it wasted
// compared to the least that was possible.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "interval/tuner.h"

namespace headway::interval {
namespace {

constexpr double kDay = 86'400;

struct World {
  double process_per_day = 0, node_per_day = 3;
  double blocking_s = 10, interference_s = 5, lag_s = 50, stage_s = 0.5;
  double step_s = 5;
  bool replica = false;
};

struct Lived {
  double wall_s = 0, saving_s = 0, lost_s = 0;
  int failures = 0, saves = 0;
  double plan_s = 0;  // the last
  [[nodiscard]] double waste() const { return (saving_s + lost_s) / wall_s; }
};

class Month {
 public:
  Month(const World& world, std::uint64_t seed) : world_(world), random_(seed) {
    settings_.replica = world.replica;
  }

  Lived live(double days) {
    double left_s = days * kDay;
    while (left_s > 0) {
      const double process_s = draw(world_.process_per_day);
      const double node_s = draw(world_.node_per_day);
      const double until_s = std::min({process_s, node_s, left_s});
      attempt(until_s, process_s < node_s, until_s < left_s);
      left_s -= until_s;
    }
    return out_;
  }

 private:
  double draw(double per_day) {
    if (per_day == 0) return 1e18;
    const double u = static_cast<double>(random_() >> 11) * 0x1p-53;
    return -std::log1p(-u) * kDay / per_day;
  }

  static std::int64_t ns(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

  // One process, from its start to the failure.
  void attempt(double until_s, bool process, bool fails) {
    Tuner tuner(settings_, 0);
    double t_s = 0, work_s = 0, staged_s = 0, durable_s = 0, durable_at_s = -1, pending_s = 0;
    std::int64_t saving = -1;
    const double slow = world_.interference_s / world_.lag_s;
    for (std::int64_t step = 1; t_s < until_s; ++step) {
      const double extra_s = saving >= 0 ? world_.step_s * slow / (1 - slow) : 0;
      t_s += world_.step_s + extra_s;
      out_.saving_s += extra_s;
      if (saving >= 0 && t_s >= durable_at_s) {
        tuner.save_durable(ns(durable_at_s), saving);
        durable_s = pending_s;
        saving = -1;
      }
      work_s += world_.step_s;
      tuner.step_ended(ns(t_s), step);
      const Decision d = tuner.should_save(ns(t_s), step);
      if (!d.stage) continue;
      const double blocking_s = d.persist ? world_.blocking_s : world_.stage_s;
      tuner.save_started(ns(t_s), step, d.persist);
      t_s += blocking_s;
      out_.saving_s += blocking_s;
      tuner.save_returned(ns(t_s), step);
      staged_s = work_s;
      if (d.persist) {
        EXPECT_EQ(saving, -1) << "one on its way at a time";
        saving = step;
        pending_s = work_s;
        durable_at_s = t_s + world_.lag_s;
        ++out_.saves;
      }
    }
    out_.wall_s += t_s;
    out_.plan_s = tuner.plan().persist_s;
    settings_.earlier = tuner.memory();
    if (!fails) return;
    ++out_.failures;
    out_.lost_s += work_s - (process && world_.replica ? staged_s : durable_s);
    settings_.earlier.history[process ? Tier::process : Tier::node] += 1;
  }

  World world_;
  std::mt19937_64 random_;
  TunerSettings settings_;
  Lived out_;
};

TEST(TunerMonth, WastesLittleMoreThanTheLeastPossible) {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u}) {
    const World world;
    const Lived lived = Month(world, seed).live(30);
    SaveCost cost;
    cost.blocking_s = world.blocking_s;
    cost.interference_s = world.interference_s;
    cost.persist_lag_s = world.lag_s;
    // The failures of this month as they came, not those that were to be expected.
    const Failures failures = one_rate(lived.failures / (30 * kDay));
    const double least = waste_at(best_plan(cost, failures), cost, failures).total();
    EXPECT_NEAR(lived.waste() / least, 1, 0.15) << "seed " << seed;
    EXPECT_NEAR(lived.plan_s / best_plan(cost, failures).persist_s, 1, 0.1) << "seed " << seed;
    EXPECT_GT(lived.failures, 60) << "seed " << seed;
  }
}

TEST(TunerMonth, IsTheSameEveryTime) {
  const Lived a = Month({}, 9).live(30);
  const Lived b = Month({}, 9).live(30);
  EXPECT_EQ(a.waste(), b.waste());
  EXPECT_EQ(a.saves, b.saves);
}

TEST(TunerMonth, AReplicaPaysWhereProcessesFail) {
  World world{.process_per_day = 10, .node_per_day = 0.3};
  const Lived without = Month(world, 3).live(30);
  world.replica = true;
  const Lived with = Month(world, 3).live(30);
  EXPECT_LT(with.waste(), without.waste() / 2);
  EXPECT_LT(with.saves, without.saves / 2) << "storage is needed less often";
}

}  // namespace
}  // namespace headway::interval
