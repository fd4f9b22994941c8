#include "compile/trace_fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/temp_dir.h"
#include "compile/fold_passes.h"
#include "compile/test_log.h"

namespace headway::compile {
namespace {

ProcessLog folded(const std::string& text) {
  const base::TempDir dir;
  ComponentTable components;
  auto log = fold_file(dir.write("t.log", text), {}, components);
  EXPECT_TRUE(log.ok());
  return std::move(log.value());
}

TEST(TraceFold, WhatNothingIsMadeOfIsCounted) {
  TestLog text;
  text.add("link", R"({"url": "x"})").add("link", R"({"url": "y"})");
  text.add("symbolic_shape_specialization", R"({"symbol": "s0"})", "0/0");
  text.artifact("empty_one", "0/0", "");
  text.add("compilation_metrics", R"({"duration_us": 3})");  // of no compilation
  text.add("aot_joint_graph", "{}", "0/0", "a graph");       // this is kept
  const ProcessLog log = folded(text.text());
  EXPECT_EQ(log.ignored, (decltype(log.ignored){{"link", 2},
                                                {"symbolic_shape_specialization", 1},
                                                {"empty_one", 1},
                                                {"compilation_metrics", 1}}));
  TestLog many;
  for (std::size_t i = 0; i < kIgnoredKindsMax + 7; ++i) many.add(fmt::format("kind{}", i), "{}");
  const ProcessLog bounded = folded(many.text());
  EXPECT_EQ(bounded.ignored.size(), kIgnoredKindsMax + 1);
  EXPECT_EQ(bounded.ignored.at("other"), 7u);
}

TEST(TraceFold, StagesWithoutWhatIsNested) {
  const ProcessLog log =
      folded(TestLog()
                 .metrics("0/0", "forward", 100, 10,
                          R"("aot_autograd_cumulative_compile_time_us": 9000000,)"
                          R"( "inductor_cumulative_compile_time_us": 7000000,)"
                          R"( "inductor_code_gen_cumulative_compile_time_us": 6000000,)"
                          R"( "triton_compile_time_us": 1000000, "guard_count": 5)")
                 .add("bwd_compilation_metrics",
                      R"({"start_time_us": 110000000, "duration_us": 4000000,)"
                      R"( "inductor_cumulative_compile_time_us": 3000000})",
                      "0/0")
                 .text());
  ASSERT_EQ(log.compiles.size(), 1u);
  const Compile& c = log.compiles[0];
  EXPECT_EQ(c.id.text(), "0/0");
  EXPECT_EQ(c.name, "forward");
  EXPECT_EQ(c.line, 12);
  EXPECT_EQ(c.guards, 5);
  EXPECT_TRUE(c.finished);
  const Stages& f = c.forward.stages;
  EXPECT_EQ(f.dynamo_us, 1'000'000);
  EXPECT_EQ(f.aot_us, 2'000'000);
  EXPECT_EQ(f.inductor_us, 1'000'000);
  EXPECT_EQ(f.codegen_us, 5'000'000);
  EXPECT_EQ(f.kernels_us, 1'000'000);
  EXPECT_EQ(c.backward.stages.dynamo_us, 0);
  EXPECT_EQ(c.backward.stages.aot_us, 1'000'000);
  EXPECT_EQ(c.total_us(), 14'000'000);
  EXPECT_EQ(f.total_us() + c.backward.stages.total_us(), c.total_us());
}

std::string event(std::string_view name, std::string_view phase, double at_s) {
  return fmt::format("{{\n\"name\": \"{}\",\n\"ts\": {:.1f},\n\"args\": {{}},\n\"ph\": \"{}\"\n}}",
                     name, at_s * 1e6, phase);
}

TEST(TraceFold, CompilersThatRanAtOnceCountOnce) {
  TestLog text;
  text.add("chromium_event", "{}", "0/0", event("async_compile.wait", "B", 102));
  text.add("chromium_event", "{}", "0/0", event("compile_file", "B", 101));
  text.add("chromium_event", "{}", "0/0", event("compile_file", "E", 103));
  text.add("chromium_event", "{}", "0/0", event("async_compile.wait", "E", 104));
  text.add("chromium_event", "{}", "0/0", event("compile_file", "B", 109));
  text.add("chromium_event", "{}", "0/0", event("compile_file", "E", 115));  // beyond the end
  text.metrics("0/0", "forward", 100, 10,
               R"("aot_autograd_cumulative_compile_time_us": 10000000,)"
               R"( "inductor_cumulative_compile_time_us": 10000000,)"
               R"( "inductor_code_gen_cumulative_compile_time_us": 10000000)");
  EXPECT_EQ(folded(text.text()).compiles.at(0).forward.stages.kernels_us, 4'000'000);
}

TEST(TraceFold, PartsLongerThanTheWhole) {
  const Stages s = stages_of({10, 50, -3, 1000, 7}, false);
  EXPECT_EQ(s.total_us(), 10);
  for (const auto us : {s.dynamo_us, s.aot_us, s.inductor_us, s.codegen_us, s.kernels_us}) {
    EXPECT_GE(us, 0);
  }
}

TEST(TraceFold, AReasonWithTheUsersStackIsOneReason) {
  const std::string stack =
      "\nUser stack trace:\n  File \"/a/train.py\", line 5, in forward\n    y = {0: x}[0/1: 2]";
  const ProcessLog log =
      folded(TestLog().artifact("recompile_reasons", "0/1", "0/0: n == 11" + stack).text());
  ASSERT_EQ(log.compiles.size(), 1u);
  EXPECT_EQ(log.compiles[0].recompile_reasons, std::vector<std::string>{"0/0: n == 11" + stack});
}

TEST(TraceFold, WhyAgainWhatBrokeAndWhatChanged) {
  const ProcessLog log = folded(
      TestLog()
          .add("str", R"(["/a/train.py", 7])")
          .add("dynamo_start",
               R"({"stack": [{"line": 1, "name": "m", "filename": 7},)"
               R"( {"line": 12, "name": "forward", "filename": 7}]})",
               "0/1")
          .artifact("recompile_reasons", "0/1",
                    "0/0: tensor 'x' size mismatch at index 0. expected 64, actual 96\n"
                    "0/0: second reason")
          .add(
              "chromium_event", "{}", "0/1",
              R"({"name": "automatic_dynamic", "ts": 1.0, "args": {"name": "L['x']",)"
              R"( "dim_changed": 0, "reason": "size change", "cached": "64", "new": "96"}, "ph": "i"})")
          .artifact("dynamo_graph_break_reason", "0/1",
                    "Graph break in user code at /a/train.py:19\n"
                    "Graph Break Reason: Encountered graph break when attempting to trace CALL:\n"
                    "\nCall to `print`\n  Explanation: none\n")
          .text());
  ASSERT_EQ(log.compiles.size(), 1u);
  const Compile& c = log.compiles[0];
  EXPECT_FALSE(c.finished);
  EXPECT_EQ(c.name, "forward");
  EXPECT_EQ(c.file, "/a/train.py");
  EXPECT_TRUE(c.is_recompile());
  ASSERT_EQ(c.recompile_reasons.size(), 2u);
  EXPECT_EQ(c.recompile_reasons[1], "0/0: second reason");
  ASSERT_EQ(c.changes.size(), 1u);
  EXPECT_EQ(c.changes[0].source, "L['x']");
  EXPECT_EQ(c.changes[0].dim, 0);
  EXPECT_EQ(c.changes[0].is, "96");
  ASSERT_EQ(c.breaks.size(), 1u);
  EXPECT_EQ(c.breaks[0].where, "/a/train.py:19");
  EXPECT_EQ(c.breaks[0].reason, "Call to `print`");
}

TEST(TraceFold, HitsMissesAndBypasses) {
  const ProcessLog log = folded(
      TestLog()
          .artifact("fx_graph_cache_hit", "0/0", R"({"key": "fa", "time_saved_ns": 5000000})")
          .artifact("aotautograd_cache_hit", "0/0", R"({"key": "aa"})")
          .artifact("fx_graph_cache_miss", "1/0",
                    R"({"key": "fb", "components": ["[h] gm: g", 3, "odd"]})")
          .artifact("aotautograd_cache_bypass", "2/0",
                    R"({"cache_bypass_reason": "no <function f at 0x7f915f9b2120> here"})")
          .artifact("fx_graph_cache_miss", "3/0", "not json")
          .text());
  ASSERT_EQ(log.compiles.size(), 4u);
  EXPECT_TRUE(log.compiles[0].is_warm());
  EXPECT_EQ(log.compiles[0].asks[0].saved_us, 5000);
  EXPECT_FALSE(log.compiles[1].is_warm());
  EXPECT_EQ(log.compiles[1].asks[0].components.size(), 1u);
  EXPECT_EQ(log.compiles[2].asks[0].reason, "no <function f at 0x…> here");
  EXPECT_EQ(log.compiles[3].asks[0].outcome, CacheOutcome::miss);
}

// Records are found by their ids: in which order they stand does not matter.
TEST(TraceFold, AnyOrderSaysTheSame) {
  std::vector<std::string> records;
  for (int i = 0; i < 4; ++i) {
    const std::string id = fmt::format("{}/0", i);
    records.push_back(TestLog().metrics(id, fmt::format("f{}", i), 100 + i, 1).text());
    records.push_back(TestLog().artifact("recompile_reasons", id, "why").text());
    records.push_back(TestLog().artifact("fx_graph_cache_miss", id, "{}").text());
  }
  const unsigned seed = 7;
  std::mt19937 random(seed);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(records.begin(), records.end(), random);
    std::string text;
    for (const std::string& record : records) text += record;
    const ProcessLog log = folded(text);
    ASSERT_EQ(log.compiles.size(), 4u) << "seed " << seed;
    for (const Compile& c : log.compiles) {
      EXPECT_EQ(c.name, fmt::format("f{}", c.id.frame));
      EXPECT_EQ(c.recompile_reasons, std::vector<std::string>{"why"});
      EXPECT_EQ(c.asks.size(), 1u);
    }
  }
}

TEST(TraceFold, ALimitIsCounted) {
  TestLog text;
  for (std::size_t i = 0; i < kPerCompileMax + 3; ++i)
    text.artifact("fx_graph_cache_miss", "0/0", "{}");
  const ProcessLog log = folded(text.text());
  EXPECT_EQ(log.compiles[0].asks.size(), kPerCompileMax);
  EXPECT_EQ(log.left_out, 3u);
}

TEST(TraceFold, StacksShareWhatTheyHaveInCommon) {
  const auto start = [](std::string_view last) {
    return fmt::format(R"({{"stack": [{{"line": 9, "name": "<module>", "filename": 1}},)"
                       R"( {{"line": 4, "name": "{}", "filename": 1}}]}})",
                       last);
  };
  TestLog text;
  text.add("str", R"(["/a/train.py", 1])");
  text.add("dynamo_start", start("f"), "0/0").add("dynamo_start", start("g"), "1/0");
  text.add("dynamo_start", start("f"), "0/1").metrics("2/0", "h", 1, 1);
  const ProcessLog log = folded(text.text());
  ASSERT_EQ(log.compiles.size(), 4u);
  EXPECT_EQ(log.stacks.nodes().size(), 4u) << "the root, the module and two functions";
  EXPECT_EQ(log.compiles[0].stack, log.compiles[2].stack);
  const StackNode& node = log.stacks.nodes()[log.compiles[1].stack];
  EXPECT_EQ(log.stacks.name(node.function), "g");
  EXPECT_EQ(log.stacks.name(node.file), "/a/train.py");
  EXPECT_EQ(log.stacks.name(log.stacks.nodes()[node.parent].function), "<module>");
  EXPECT_EQ(log.compiles[3].stack, 0u) << "none is told";
}

}  // namespace
}  // namespace headway::compile
