#include "compile/autotune_cost.h"

#include <gtest/gtest.h>

#include "base/temp_dir.h"
#include "compile/test_log.h"
#include "compile/trace_fold.h"

namespace headway::compile {
namespace {

std::string event(std::string_view name, char phase, double at_s, std::string_view args) {
  return fmt::format(
      "{{\n\"name\": \"{}\",\n\"ts\": {:.1f},\n\"args\": {{{}}},\n\"ph\": \"{}\"\n}}", name,
      at_s * 1e6, args, phase);
}

std::vector<AutotuneCost> costs_of(const TestLog& log) {
  const base::TempDir dir;
  ComponentTable components;
  auto folded = fold_file(dir.write("t.log", log.text()), {}, components);
  EXPECT_TRUE(folded.ok());
  return folded->autotune;
}

constexpr std::string_view kBenchmark = "CachingAutotuner.benchmark_all_configs";
constexpr std::string_view kDescent = "CachingAutotuner.coordinate_descent_tuning";

// As torch tells it: compiled with the graph, tuned when it first runs, outside of any compilation.
TEST(AutotuneCost, OfTritonKernels) {
  TestLog log;
  log.artifact("triton_kernel_info", "2/1",
               R"({"triton_a": {"autotune_cache_state": "miss", "num_configs": 4,)"
               R"( "compile_time_us": 3000000}, "triton_b": {"autotune_cache_state":)"
               R"( "only 1 config", "compile_time_us": 0}})");
  const std::string_view a = R"("kernel_name": "triton_a", "compile_id": "2/1")";
  log.add("chromium_event", "{}", "", event(kBenchmark, 'B', 10, a));
  log.add("chromium_event", "{}", "", event(kBenchmark, 'E', 12, a));
  log.add("chromium_event", "{}", "", event(kDescent, 'B', 12, a));
  log.add("chromium_event", "{}", "", event(kDescent, 'E', 17, a));
  const auto costs = costs_of(log);
  ASSERT_EQ(costs.size(), 1u) << "a kernel of one configuration that took no time is not there";
  const AutotuneCost& cost = costs[0];
  EXPECT_EQ(cost.kernel, "triton_a");
  EXPECT_FALSE(cost.is_template);
  EXPECT_EQ(cost.first.text(), "2/1");
  EXPECT_EQ(cost.configs, 4);
  EXPECT_EQ(cost.runs, 1u);
  EXPECT_EQ(cost.compile_us, 3'000'000);
  EXPECT_EQ(cost.benchmark_us, 2'000'000);
  EXPECT_EQ(cost.descent_us, 5'000'000);
  EXPECT_EQ(cost.cache, "miss");
}

TEST(AutotuneCost, OfTemplatesWithTheirShapes) {
  TestLog log;
  double at_s = 0;
  for (const std::string_view shape : {"16x64, 64x128", "16x128, 128x32", "16x64, 64x128"}) {
    const std::string args = fmt::format("\"autotune_shape\": \"{}\"", shape);
    const std::string stats =
        args + R"(, "autotune_choices_stats": "{\"num_choices\": 3, \"best_kernel\": \"k1\"}")";
    log.add("chromium_event", "{}", "0/0", event("mm_template_precompiling", 'B', at_s, ""));
    log.add("chromium_event", "{}", "0/0", event("mm_template_precompiling", 'E', at_s + 2, ""));
    log.add("chromium_event", "{}", "0/0", event("mm_template_autotuning", 'B', at_s + 2, args));
    log.add("chromium_event", "{}", "0/0", event("mm_template_autotuning", 'E', at_s + 3, stats));
    at_s += 10;
  }
  const auto costs = costs_of(log);
  ASSERT_EQ(costs.size(), 2u);
  EXPECT_EQ(costs[0].kernel, "mm 16x64, 64x128");
  EXPECT_TRUE(costs[0].is_template);
  EXPECT_EQ(costs[0].runs, 2u);
  EXPECT_EQ(costs[0].compile_us, 4'000'000);
  EXPECT_EQ(costs[0].benchmark_us, 2'000'000);
  EXPECT_EQ(costs[0].configs, 3);
  EXPECT_EQ(costs[0].best, "k1");
  EXPECT_EQ(costs[1].total_us(), 3'000'000);
}

TEST(AutotuneCost, EndsWithoutABeginAndBeginsWithoutAnEndCostNothing) {
  TestLog log;
  log.add("chromium_event", "{}", "", event(kBenchmark, 'E', 12, R"("kernel_name": "x")"));
  log.add("chromium_event", "{}", "", event(kBenchmark, 'B', 13, R"("kernel_name": "x")"));
  EXPECT_TRUE(costs_of(log).empty());
}

TEST(AutotuneCost, TheSameKernelOfSeveralRanksIsOne) {
  AutotuneCost one;
  one.kernel = "a";
  one.benchmark_us = 5;
  AutotuneCost other = one;
  other.kernel = "b";
  other.benchmark_us = 7;
  const std::vector<AutotuneCost> first = {one}, second = {other, one};
  const auto merged = merge_costs({&first, &second});
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].kernel, "a");
  EXPECT_EQ(merged[0].benchmark_us, 10);
}

}  // namespace
}  // namespace headway::compile
