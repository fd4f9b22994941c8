#include "regress/sla.h"

#include <gtest/gtest.h>

namespace headway::regress {
namespace {

constexpr std::int64_t kHourNs = 3'600'000'000'000;

TEST(Sla, QuantilesAndLateOnesByComponent) {
  Sla sla(86'400);
  sla.set_target("data_wait", 7200);
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

TEST(Sla, AnAlertBeforeItsBeginningWaitedNotAtAll) {
  Sla sla(60);
  sla.add("eval", 5 * kHourNs, 4 * kHourNs);
  ASSERT_EQ(sla.rows().size(), 1u);
  EXPECT_DOUBLE_EQ(sla.rows()[0].p90_s, 0);
}

TEST(Sla, ComponentsAreBounded) {
  Sla sla(60);
  for (std::size_t i = 0; i < Sla::components_max + 3; ++i) sla.add(std::to_string(i), 0, 1);
  EXPECT_EQ(sla.rows().size(), Sla::components_max);
  EXPECT_EQ(sla.left_out(), 3u);
}

}  // namespace
}  // namespace headway::regress
