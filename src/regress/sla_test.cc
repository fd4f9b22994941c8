#include "regress/sla.h"

#include <gtest/gtest.h>

namespace headway::regress {
namespace {

constexpr std::int64_t kHourNs = 3'600'000'000'000;

TEST(Sla, QuantilesAndLateOnesByComponent) {
  AlertTargets targets;
  EXPECT_TRUE(targets.set("start", 86'400));
  EXPECT_TRUE(targets.set("data_wait", 7200));
  Sla sla(targets);
  for (int hours = 1; hours <= 10; ++hours) sla.add("compile_cold", 0, hours * kHourNs);
  for (const int hours : {1, 2, 3}) sla.add("data_wait", kHourNs, (1 + hours) * kHourNs);
  const auto rows = sla.rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].component, "compile_cold");
  EXPECT_EQ(rows[0].alerts, 10u);
  EXPECT_DOUBLE_EQ(rows[0].p50_s, 5 * 3600);
  EXPECT_DOUBLE_EQ(rows[0].p90_s, 9 * 3600);
  EXPECT_DOUBLE_EQ(rows[0].target_s, 86'400);
  EXPECT_EQ(rows[0].late, 0u);
  EXPECT_DOUBLE_EQ(rows[1].target_s, 7200);
  EXPECT_DOUBLE_EQ(rows[1].p50_s, 7200);
  EXPECT_EQ(rows[1].late, 1u);  // exactly on time is not late
}

TEST(Sla, EveryComponentHasATarget) {
  AlertTargets targets;
  constexpr double day_s = 86'400;
  EXPECT_DOUBLE_EQ(targets.of("compile_cold"), 2 * day_s);
  EXPECT_DOUBLE_EQ(targets.of("recover:compile_cold"), 3 * day_s);
  EXPECT_DOUBLE_EQ(targets.of("recover:replay"), 3 * day_s);
  EXPECT_DOUBLE_EQ(targets.of("often:compile_cold"), 3 * day_s);
  EXPECT_DOUBLE_EQ(targets.of("recover_often:compile_cold"), 5 * day_s);
  EXPECT_DOUBLE_EQ(targets.of("data_wait"), 3 * day_s);
  EXPECT_DOUBLE_EQ(targets.of("final_save"), 3 * day_s);
  EXPECT_DOUBLE_EQ(targets.of("failures:gpu_ecc"), 7 * day_s);
  EXPECT_TRUE(targets.set("failures", 10));
  EXPECT_TRUE(targets.set("failures:gpu_ecc", 20));
  EXPECT_DOUBLE_EQ(targets.of("failures:nccl_timeout"), 10);
  EXPECT_DOUBLE_EQ(targets.of("failures:gpu_ecc"), 20);
  EXPECT_FALSE(targets.set("compile_cold_", 1));
  EXPECT_FALSE(targets.set("", 1));
  EXPECT_FALSE(targets.set("failures:", 1));
}

TEST(Sla, AnAlertBeforeItsBeginningWaitedNotAtAll) {
  Sla sla{AlertTargets()};
  sla.add("eval", 5 * kHourNs, 4 * kHourNs);
  ASSERT_EQ(sla.rows().size(), 1u);
  EXPECT_DOUBLE_EQ(sla.rows()[0].p90_s, 0);
}

TEST(Sla, ComponentsAreBounded) {
  Sla sla{AlertTargets()};
  for (std::size_t i = 0; i < Sla::components_max + 3; ++i) sla.add(std::to_string(i), 0, 1);
  EXPECT_EQ(sla.rows().size(), Sla::components_max);
  EXPECT_EQ(sla.left_out(), 3u);
}

}  // namespace
}  // namespace headway::regress
