#include "agent/step_times.h"

#include <gtest/gtest.h>

#include "headway/headway.h"

namespace headway::agent {
namespace {

event::Event step(std::int64_t number, std::int64_t t_ns) {
  event::Event out;
  out.type = event::EventType::step_end;
  out.a = number;
  out.t_ns = t_ns;
  return out;
}

event::Event compile(event::EventType type, std::int64_t t_ns) {
  event::Event out;
  out.type = type;
  out.name = HW_PHASE_COMPILE;
  out.t_ns = t_ns;
  return out;
}

TEST(StepTimes, StepsWithACompilationDoNotCount) {
  StepGaps gaps;
  std::int64_t now_ns = 1000;
  for (int i = 0; i < 40; ++i) {
    const bool compiled = i % 4 == 3;
    if (compiled) gaps.take(compile(event::EventType::begin, now_ns));
    if (compiled) gaps.take(compile(event::EventType::end, now_ns + 5000));
    gaps.take(step(i, now_ns += compiled ? 6000 : 100 + i % 2));
    gaps.take(step(i, now_ns + 50));  // told twice
  }
  const StepTimes times = gaps.times();
  EXPECT_EQ(times.steps, 40);
  EXPECT_EQ(times.measured, 40 - 10 - 1 - StepGaps::first_left_out);
  EXPECT_NEAR(static_cast<double>(times.median_ns), 100, 1);
  EXPECT_LE(times.spread_ns, 1);
}

TEST(StepTimes, OfNothing) {
  EXPECT_EQ(StepGaps().times().measured, 0);
  EXPECT_EQ(read_step_times("/nowhere", 0, 2).steps, 0);
}

}  // namespace
}  // namespace headway::agent
