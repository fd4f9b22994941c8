#include "compile/dynamic_memory.h"

#include <gtest/gtest.h>

namespace headway::compile {
namespace {

TrialRecord record(bool applied, std::int64_t step_us, std::int64_t saved_s, std::uint64_t attempt,
                   std::int64_t steps = 1000) {
  TrialRecord out;
  out.job = "job";
  out.attempt = attempt;
  out.setup = "2 ranks";
  out.applied = applied;
  out.steps = out.measured = steps;
  out.step_ns = step_us * 1000;
  out.spread_ns = out.step_ns / 10;
  out.compiles = 3;
  out.compile_us = 10'000'000;
  out.saved_us = applied ? 0 : saved_s * 1'000'000;
  return out;
}

TEST(DynamicTrial, SlowerStepsThanItSavesAreTakenBack) {
  // 1000 steps, each 2 ms longer: 2 s, and compilations of 1 s are saved.
  const auto verdict =
      judge_trial({record(false, 10'000, 1, 1), record(true, 12'000, 0, 2)}, "2 ranks");
  EXPECT_EQ(verdict.outcome, TrialOutcome::take_back);
  EXPECT_EQ(verdict.lost_us, 2'000'000);
  EXPECT_EQ(verdict.saved_us, 1'000'000);
  EXPECT_NE(verdict.text.find("12 ms with it and 10 ms without"), std::string::npos)
      << verdict.text;
  // It saves 5 s.
  EXPECT_EQ(
      judge_trial({record(false, 10'000, 5, 1), record(true, 12'000, 0, 2)}, "2 ranks").outcome,
      TrialOutcome::keep);
}

TEST(DynamicTrial, AWarmCacheIsNotItsGain) {
  // The first attempt compiled everything, 1 s of it twice; the second one found all in the cache.
  auto cold = record(false, 10'000, 1, 1), warm = record(true, 12'000, 0, 2);
  cold.compile_us = 40'000'000;
  warm.compile_us = 2'000'000;
  const auto verdict = judge_trial({cold, warm}, "2 ranks");
  EXPECT_EQ(verdict.saved_us, 1'000'000);
  EXPECT_EQ(verdict.outcome, TrialOutcome::take_back);
  EXPECT_NE(verdict.text.find("1.00 s of compiling saved"), std::string::npos) << verdict.text;
}

TEST(DynamicTrial, NoiseIsNoVerdict) {
  EXPECT_EQ(
      judge_trial({record(false, 10'000, 0, 1), record(true, 10'150, 0, 2)}, "2 ranks").outcome,
      TrialOutcome::keep);
  // Few steps that differ much say little: the median of 36 is known to some 5%.
  auto with = record(true, 10'600, 0, 2, 36), without = record(false, 10'000, 0, 1, 36);
  with.spread_ns = without.spread_ns = 2'000'000;
  EXPECT_EQ(judge_trial({with, without}, "2 ranks").outcome, TrialOutcome::keep);
  with.spread_ns = without.spread_ns = 200'000;
  EXPECT_EQ(judge_trial({with, without}, "2 ranks").outcome, TrialOutcome::take_back);
}

TEST(DynamicTrial, OnlyWhatCanBeComparedIs) {
  EXPECT_EQ(judge_trial({}, "2 ranks").outcome, TrialOutcome::undecided);
  EXPECT_EQ(judge_trial({record(true, 9, 1, 1)}, "2 ranks").outcome, TrialOutcome::undecided);
  EXPECT_EQ(judge_trial({record(false, 9, 1, 1, 29), record(true, 99, 1, 2)}, "2 ranks").outcome,
            TrialOutcome::undecided);
  EXPECT_EQ(judge_trial({record(false, 9, 1, 1), record(true, 99, 1, 2)}, "4 ranks").outcome,
            TrialOutcome::undecided);
  EXPECT_EQ(median_of({}), 0);
  EXPECT_EQ(median_of({4, 1, 3, 2}), 2);
}

TEST(DynamicMemory, IsReadAsItWasWritten) {
  DynamicMemory memory;
  memory.family = "train";
  memory.sources = {{"L['x']", 0}, {"L['n']", -1}, {"L['d']['k,l']", 1}};
  memory.useless = {{"L['y']", 0}};
  memory.known = {{"L['x']", false}, {"L['n']", true}};
  memory.taken_back = "slower \"by far\"";
  memory.add_record(record(true, 10, 2, 3));
  auto read = read_memory(write_memory(memory));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->sources, memory.sources);
  EXPECT_EQ(read->useless, memory.useless);
  EXPECT_EQ(read->known, memory.known);
  EXPECT_EQ(read->taken_back, memory.taken_back);
  EXPECT_EQ(write_memory(*read), write_memory(memory));
  EXPECT_EQ(read->setting(), "L\\['d'\\]\\['k\\x2cl'\\]\\Z:1,L['n'],L['x']:0");
}

TEST(DynamicMemory, DamageIsAnErrorOfOneLine) {
  DynamicMemory memory;
  memory.sources = {{"L['x']", 0}};
  const std::string whole = write_memory(memory);
  for (std::size_t end = 0; end + 2 < whole.size(); ++end) {
    EXPECT_FALSE(read_memory(std::string_view(whole).substr(0, end)).ok()) << end;
  }
  for (const auto& [was, is] :
       {std::pair("\"version\": 2", "\"version\": 1"), std::pair("\"dim\": 0", "\"dim\": \"0\""),
        std::pair("\"dim\": 0", "\"dim\": 100000"), std::pair("L['x']", "G['_140486068397904']"),
        std::pair("\"tensors\": []", "\"tensors\": [7]"), std::pair("\"records\": []", "\"a\": 1"),
        std::pair("\"records\": []", "\"records\": [[]]")}) {
    std::string text = whole;
    const std::size_t at = text.find(was);
    ASSERT_NE(at, std::string::npos) << was;
    auto read = read_memory(text.replace(at, std::string_view(was).size(), is));
    EXPECT_FALSE(read.ok()) << is;
  }
}

TEST(DynamicMemory, LearnsAndForgets) {
  DynamicMemory memory;
  DynamicFindings findings;
  findings.sources.resize(1);
  findings.sources[0].at = {"L['x']", 0};
  findings.known = {{"L['x']", false}};
  EXPECT_EQ(memory.learn(findings), 1u);
  EXPECT_EQ(memory.learn(findings), 0u);
  DynamicFindings later;
  later.useless = {{"L['x']", 0}};
  memory.learn(later);
  EXPECT_TRUE(memory.sources.empty());
  EXPECT_EQ(memory.learn(findings), 0u) << "it was of no use once";
  EXPECT_EQ(memory.setting(), "");
}

TEST(DynamicMemory, IsBounded) {
  DynamicMemory memory;
  DynamicFindings findings;
  findings.sources.resize(kMemorySourcesMax + 10);
  for (std::size_t i = 0; i < findings.sources.size(); ++i) {
    findings.sources[i].at = {"L['x" + std::to_string(i) + "']", 0};
  }
  for (std::size_t i = 0; i <= kMemoryKnownMax; ++i) {
    findings.known.insert({"L['y" + std::to_string(i) + "']", false});
  }
  EXPECT_EQ(memory.learn(findings), kMemorySourcesMax);
  EXPECT_FALSE(memory.known_whole);
  for (std::uint64_t i = 0; i < 100; ++i) memory.add_record(record(i % 10 == 0, 10, 2, i));
  EXPECT_LE(memory.records.size(), kMemoryRecordsMax);
  const auto applied = std::count_if(memory.records.begin(), memory.records.end(),
                                     [](const TrialRecord& r) { return r.applied; });
  EXPECT_EQ(applied, 10) << "those without did not push them out";
  EXPECT_TRUE(read_memory(write_memory(memory)).ok());
}

}  // namespace
}  // namespace headway::compile
