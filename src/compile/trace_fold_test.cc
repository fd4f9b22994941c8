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
  text.add("describe_tensor", R"({"id": 0})", "0/0");
  text.add("guard_added_fast", R"({"expr": "s0 < 9"})");  // of no compilation
  text.artifact("empty_one", "0/0", "");
  text.add("compilation_metrics", R"({"duration_us": 3})");  // of no compilation
  text.add("aot_joint_graph", "{}", "0/0", "a graph");       // this is kept
  const ProcessLog log = folded(text.text());
  EXPECT_EQ(log.ignored, (decltype(log.ignored){{"link", 2},
                                                {"describe_tensor", 1},
                                                {"guard_added_fast", 1},
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

TEST(TraceFold, WhatACacheWouldNotTake) {
  const ProcessLog log = folded(
      TestLog()
          .artifact("precompile_cache_bypass", "0/0",
                    R"({"_reason": "Guard evaluation failed: at 0x7f915f9b2120", "gm": "…"})")
          .artifact("aotautograd_cache_miss", "1/0", R"({"key": "aa"})")
          .artifact("aotautograd_cache_pickle_failure", "1/0",
                    R"({"error": "cannot pickle 'module' object", "field": "guards_expr"})")
          .artifact("aotautograd_cache_hit", "2/0", R"({"key": "aa", "error": "odd"})")
          .text());
  ASSERT_EQ(log.compiles.size(), 3u);
  const CacheAsk& whole = log.compiles[0].asks.at(0);
  EXPECT_EQ(name_of(whole.kind), "precompile");
  EXPECT_EQ(whole.outcome, CacheOutcome::bypass);
  EXPECT_EQ(whole.reason, "Guard evaluation failed: at 0x…");
  ASSERT_EQ(log.compiles[1].asks.size(), 2u);
  const CacheAsk& kept = log.compiles[1].asks[1];
  EXPECT_EQ(kept.kind, CacheKind::aot_autograd);
  EXPECT_EQ(kept.outcome, CacheOutcome::bypass);
  EXPECT_EQ(kept.reason, "cannot be kept: cannot pickle 'module' object (its guards_expr)");
  EXPECT_EQ(log.compiles[2].asks.at(0).reason, "");
}

std::string told(const ProcessLog& log, std::uint32_t stack) {
  std::string out;
  for (const StackNode& call : log.code.path_to(stack)) {
    out +=
        fmt::format("{}:{} {};", log.code.name(call.file), call.line, log.code.name(call.function));
  }
  return out;
}

TEST(TraceFold, WhatTheCodeAskedOfSizes) {
  const std::string_view stack =
      R"("user_stack": [{"line": 3, "name": "forward", "filename": 1, "loc": "f[x]"},)"
      R"( {"line": 9, "name": "f", "filename": 1, "loc": "if x.shape[0] == 8:"}])";
  TestLog text;
  text.add("str", R"(["/a/train.py", 1])");
  const std::string guard = fmt::format(R"({{"expr": "s77 < 9", {}, "stack": []}})", stack);
  for (int attempt = 0; attempt < 2; ++attempt) {  // Dynamo began again
    text.add("create_symbol",
             R"({"symbol": "s77", "val": "8", "vr": "[2, int_oo]",)"
             R"( "source": "L['x'].size()[0]", "user_stack": [], "stack": []})",
             "0/0");
    text.add("guard_added_fast", guard, "0/0");
    text.add(
        "symbolic_shape_specialization",
        fmt::format(R"({{"symbol": "s77", "sources": ["L['x'].size()[0]", "L['y'].size()[0]"],)"
                    R"( "value": "8", "reason": "find", "stack": [], {}}})",
                    stack),
        "0/0");
  }
  text.add("create_unbacked_symbol", R"({"symbol": "u0", "vr": "[0, int_oo]"})", "0/0");
  text.add("symbolic_shape_specialization", R"({"symbol": "s3", "user_stack": null})", "0/0");
  text.add("guard_added_fast", R"({"expr": 3, "user_stack": [4, {"line": "x"}]})", "0/0");
  const ProcessLog log = folded(text.text());
  ASSERT_EQ(log.compiles.size(), 1u);
  const Compile& c = log.compiles[0];
  ASSERT_EQ(c.symbols.size(), 2u);
  EXPECT_EQ(c.symbols[0], (SizeSymbol{"s77", "L['x'].size()[0]", "8", "[2, int_oo]"}));
  EXPECT_EQ(c.symbols[1], (SizeSymbol{"u0", "", "", "[0, int_oo]"}));
  ASSERT_EQ(c.specialised.size(), 2u);
  EXPECT_EQ(c.specialised[0].sources, "L['x'].size()[0], L['y'].size()[0]");
  EXPECT_EQ(c.specialised[0].value, "8");
  EXPECT_EQ(c.specialised[0].reason, "find");
  EXPECT_EQ(told(log, c.specialised[0].stack), "/a/train.py:3 forward;/a/train.py:9 f;");
  EXPECT_EQ(told(log, c.specialised[1].stack), "");
  ASSERT_EQ(c.size_guards.size(), 2u);
  EXPECT_EQ(c.size_guards[0].expression, "s77 < 9");
  EXPECT_EQ(c.size_guards[0].stack, c.specialised[0].stack);
  EXPECT_EQ(log.code.nodes().size(), 5u) << "the root, two calls, and two that say nothing";
  EXPECT_EQ(log.stacks.nodes().size(), 1u) << "no compilation was called from there";
  EXPECT_TRUE(log.ignored.empty());
}

TEST(TraceFold, TheUsersStackOfAGraphBreak) {
  const std::string text =
      "Graph break in user code at /a/train.py:9\nGraph Break Reason: Call to `print`\n\n"
      "User code traceback:\n"
      "  File \"/a/train.py\", line 30, in <module>\n    f(x)\n"
      "  File \"/a/odd\", line 3.py\", line 9, in f\n    print(\"  File \")\n"
      "  File \"/a/torn.py\", line x, in f\n"
      "\nTraceback (most recent call last):\n"
      "  File \"/torch/symbolic_convert.py\", line 1, in step\n";
  const ProcessLog log =
      folded(TestLog()
                 .artifact("dynamo_graph_break_reason", "0/0", text)
                 .artifact("dynamo_graph_break_reason", "1/0", "Graph break, and no stack")
                 .text());
  ASSERT_EQ(log.compiles.size(), 2u);
  EXPECT_EQ(told(log, log.compiles[0].breaks.at(0).stack),
            "/a/train.py:30 <module>;/a/odd\", line 3.py:9 f;");
  EXPECT_EQ(log.compiles[1].breaks.at(0).stack, 0u);
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
