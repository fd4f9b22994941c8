#include "collector/alert_counts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace headway::collector {
namespace {

store::AlertRow row(const std::string& document) {
  return {1, "t", "k", document, 0};
}

store::AlertRow alert(const std::string& state, const std::string& component, double cost) {
  return row(fmt::format(R"({{"state":"{}","component":"{}","device_hours_per_day":{}}})", state,
                         component, cost));
}

TEST(AlertCounts, OnlyOpenOnesAreToldByComponent) {
  const std::vector<store::AlertRow> rows = {
      alert("open", "compile_cold", 24), alert("open", "compile_cold", 12.5),
      alert("open", "failures:gpu_ecc", 1), alert("acknowledged", "restore", 99),
      alert("gone", "imports", 99)};
  const AlertCounts counts = count_alerts(rows, {});
  EXPECT_EQ(counts.open, 3u);
  EXPECT_EQ(counts.acknowledged, 1u);
  EXPECT_EQ(counts.gone, 1u);
  ASSERT_EQ(counts.components.size(), 2u);
  EXPECT_EQ(counts.components.at("compile_cold").regressions, 2u);
  EXPECT_EQ(counts.components.at("compile_cold").device_hours_per_day, 36.5);
  EXPECT_EQ(counts.components.at("failures:gpu_ecc").regressions, 1u);
}

TEST(AlertCounts, ComponentsAreBoundedAndNothingIsLost) {
  constexpr std::size_t kMore = AlertCounts::components_max + 36;
  std::vector<store::AlertRow> rows;
  for (std::size_t i = 0; i < kMore; ++i) {
    rows.push_back(alert("open", fmt::format("failures:{}", i), static_cast<double>(i)));
  }
  const AlertCounts counts = count_alerts(rows, {});
  EXPECT_EQ(counts.components.size(), AlertCounts::components_max + 1);
  EXPECT_TRUE(counts.components.contains(fmt::format("failures:{}", kMore - 1)));
  EXPECT_FALSE(counts.components.contains("failures:0")) << "the cheapest have no name";
  EXPECT_EQ(counts.components.at("other").regressions, 36u);
  EXPECT_EQ(counts.components.at("other").device_hours_per_day, 35 * 36 / 2);
}

TEST(AlertCounts, HowSoonTheyWereFound) {
  const std::vector<store::AlertRow> rows = {
      row(R"({"state":"gone","component":"imports","began_ns":1000000000,"found_ns":11000000000})"),
      row(R"({"state":"open","component":"imports"})")};
  const AlertCounts counts = count_alerts(rows, {});
  ASSERT_EQ(counts.sla.size(), 1u);
  EXPECT_EQ(counts.sla[0].alerts, 1u);
  EXPECT_EQ(counts.sla[0].p50_s, 10);
}

TEST(AlertCounts, WhatCannotBeReadIsPassedOver) {
  const std::vector<store::AlertRow> rows = {
      row(""), row("[]"), row(R"({"state":"open","component":7,"device_hours_per_day":"x"})"),
      row(R"({"state":["open"]})")};
  const AlertCounts counts = count_alerts(rows, {});
  EXPECT_EQ(counts.open, 1u);
  EXPECT_EQ(counts.components.at("unknown").device_hours_per_day, 0);
}

}  // namespace
}  // namespace headway::collector
