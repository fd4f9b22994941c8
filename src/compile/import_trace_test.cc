#include "compile/import_trace.h"

#include <gtest/gtest.h>

#include "base/temp_dir.h"
#include "compile/test_log.h"
#include "compile/trace_job.h"

namespace headway::compile {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::string hit() {
  return R"({"key": "k", "components": []})";
}

class ImportTrace : public testing::Test {
 protected:
  // Adds a log to the trace's folder: one compilation.
  void log(const std::string& name, int rank, double start_s, double seconds, bool warm = false) {
    TestLog text;
    text.rank(rank).metrics("0/0", "forward", start_s, seconds);
    text.artifact(warm ? "fx_graph_cache_hit" : "fx_graph_cache_miss", "0/0", hit());
    dir_.write("trace/dedicated_log_torch_trace_" + name + ".log", text.text());
  }
  interchange::ImportSummary import(std::optional<std::int64_t> attempt = {}) {
    interchange::ImportOptions options;
    options.root = dir_.path() + "/jobs";
    options.job = "j";
    options.attempt = attempt;
    auto summary = import_trace({dir_.path() + "/trace"}, options);
    EXPECT_TRUE(summary.ok()) << summary.status().message();
    return summary.ok() ? *summary : interchange::ImportSummary();
  }
  void records(const std::string& lines) { dir_.write("jobs/j/events.jsonl", lines); }
  std::vector<RecordedRank> recorded() {
    const std::string root = dir_.path() + "/jobs";
    const auto job = interchange::recorded_job(root, "j");
    EXPECT_TRUE(job.has_value());
    return job ? recorded_ranks(*job) : std::vector<RecordedRank>();
  }
  base::TempDir dir_;
};

TEST_F(ImportTrace, EveryRankAndAttemptGetsItsSpans) {
  log("a", 0, 100, 10);
  log("b", 1, 101, 12, true);
  log("c", 1, 200, 5);  // started again
  log("d", 0, 201, 5);
  const auto summary = import();
  ASSERT_EQ(summary.jobs.size(), 1u);
  EXPECT_EQ(summary.jobs[0].attempts, 2u);
  const auto ranks = recorded();
  ASSERT_EQ(ranks.size(), 4u);
  EXPECT_EQ(ranks[0].attempt, 1);
  EXPECT_EQ(ranks[1].rank, 1u);
  ASSERT_EQ(ranks[1].spans.size(), 1u);
  EXPECT_EQ(ranks[1].spans[0], (CompileSpan{101 * kSecond, 113 * kSecond, true}));
  EXPECT_FALSE(ranks[0].spans[0].warm);
  EXPECT_EQ(ranks[2].attempt, 2);
  EXPECT_EQ(ranks[2].spans[0].begin_ns, 201 * kSecond);
}

TEST_F(ImportTrace, TwiceChangesNothingAndAGrownTraceAddsToIt) {
  log("a", 0, 100, 10);
  const auto once = import();
  const auto again = import();
  ASSERT_EQ(again.jobs.size(), 1u);
  EXPECT_TRUE(again.jobs[0].already_there);
  EXPECT_EQ(once.jobs[0].path, again.jobs[0].path);
  log("b", 0, 300, 10);
  EXPECT_EQ(import().jobs[0].attempts, 2u);
  EXPECT_EQ(recorded().size(), 2u);
}

TEST_F(ImportTrace, WhatTheHookRecordedDoesNotCountTwice) {
  records(R"({"t":90,"attempt":7,"type":"mark","name":"trainer_start"})"
          "\n"
          R"({"t":100.5,"attempt":7,"type":"begin","phase":"compile"})"
          "\n"
          R"({"t":109.5,"attempt":7,"type":"end","phase":"compile","warm":true})"
          "\n"
          R"({"t":150,"attempt":7,"type":"mark","name":"exit"})"
          "\n");
  log("a", 0, 100, 10);
  auto summary = import();
  EXPECT_TRUE(summary.jobs.empty());
  ASSERT_EQ(summary.notes.size(), 1u);
  EXPECT_EQ(summary.notes[0], "1 span is in the job's own records already, and left out");
  log("b", 0, 120, 10);  // another process of that attempt; nobody recorded it
  summary = import();
  ASSERT_EQ(summary.jobs.size(), 1u);
  const auto ranks = recorded();
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(ranks[0].attempt, 7) << "by its time";
  ASSERT_EQ(ranks[0].spans.size(), 2u);
}

TEST_F(ImportTrace, ATraceOfAnotherTimeIsNotLaidAnywhere) {
  records(R"({"t":500,"attempt":7,"type":"mark","name":"trainer_start"})"
          "\n"
          R"({"t":600,"attempt":7,"type":"mark","name":"exit"})"
          "\n");
  log("a", 0, 100, 10);
  interchange::ImportOptions options;
  options.root = dir_.path() + "/jobs";
  options.job = "j";
  const auto summary = import_trace({dir_.path() + "/trace"}, options);
  ASSERT_FALSE(summary.ok());
  EXPECT_NE(summary.status().message().find("--attempt says of which one"), std::string::npos);
  EXPECT_EQ(import(7).jobs.size(), 1u);
}

TEST_F(ImportTrace, CompilationsInsideOthersAreOneSpan) {
  TestLog text;
  text.metrics("0/0", "f", 100, 10).metrics("1/0", "g", 105, 2).metrics("2/0", "h", 110, 1);
  text.metrics("3/0", "never", 0, 5);
  ComponentTable components;
  auto log = read_logs({dir_.write("t.log", text.text())}, {}, components, {});
  ASSERT_TRUE(log.ok());
  const auto spans = spans_of(log->front());
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].end_ns, 110 * kSecond);
  EXPECT_EQ(spans[1].end_ns, 111 * kSecond);
}

TEST_F(ImportTrace, AJobHasToBeNamed) {
  log("a", 0, 100, 10);
  interchange::ImportOptions options;
  options.root = dir_.path() + "/jobs";
  const auto summary = import_trace({dir_.path() + "/trace"}, options);
  ASSERT_FALSE(summary.ok());
  EXPECT_NE(summary.status().message().find("name it with --job"), std::string::npos);
}

}  // namespace
}  // namespace headway::compile
