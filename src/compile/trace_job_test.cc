#include "compile/trace_job.h"

#include <gtest/gtest.h>

#include "base/temp_dir.h"
#include "compile/test_log.h"
#include "compile/trace_room.h"

namespace headway::compile {
namespace {

std::string miss(std::string_view key, std::string_view graph, std::string_view tune,
                 std::string_view more = {}) {
  return fmt::format(
      R"({{"key": "{}", "components": ["[{}] gm: graph {}", "[{}] config[tune]: {}"{}]}})", key,
      graph, graph, tune, tune, more);
}

std::vector<ProcessLog> read(const base::TempDir& dir, const std::string& name,
                             const std::string& text, ComponentTable& table) {
  auto logs = read_logs({dir.write(name, text)}, {}, table, {});
  EXPECT_TRUE(logs.ok());
  return std::move(logs.value());
}

TEST(TraceJob, AMissIsComparedWithTheMostSimilarKey) {
  const base::TempDir dir;
  TraceJob job;
  job.logs = read(
      dir, "t.log",
      TestLog()
          .artifact("fx_graph_cache_miss", "0/0", miss("k0", "A", "off"))
          .artifact("fx_graph_cache_miss", "1/0", miss("k1", "B", "off"))
          .artifact("fx_graph_cache_miss", "2/0", miss("k2", "A", "on"))
          .artifact("fx_graph_cache_hit", "3/0", miss("k2", "A", "on"))
          .artifact("fx_graph_cache_miss", "4/0", miss("k4", "A", "on", R"(, "[z] extra: new")"))
          .text(),
      job.components);
  const auto causes = explain_misses(job);
  ASSERT_EQ(causes.size(), 4u);
  EXPECT_FALSE(causes[0].has_nearest);
  ASSERT_TRUE(causes[1].has_nearest);
  ASSERT_EQ(causes[1].changes.size(), 1u);
  EXPECT_EQ(causes[1].changes[0].name, "gm");
  ASSERT_EQ(causes[2].changes.size(), 1u);
  EXPECT_EQ(causes[2].nearest.compile, 0u);
  EXPECT_EQ(causes[2].changes[0].name, "config[tune]");
  EXPECT_EQ(causes[2].changes[0].was, "off");
  EXPECT_EQ(causes[2].changes[0].is, "on");
  EXPECT_EQ(causes[3].nearest.compile, 3u);
  ASSERT_EQ(causes[3].changes.size(), 1u);
  EXPECT_EQ(causes[3].changes[0].name, "extra");
}

TEST(TraceJob, AMissIsNotComparedWithItselfNorWithWhatIsAnotherFunctions) {
  const base::TempDir dir;
  TraceJob job;
  TestLog log;
  log.metrics("0/0", "f", 1, 1)
      .artifact("fx_graph_cache_miss", "0/0", miss("k0", "A", "off"))
      .artifact("fx_graph_cache_miss", "0/0", miss("k1", "B", "off"));  // its backward
  log.metrics("1/0", "g", 2, 1).artifact("fx_graph_cache_miss", "1/0", miss("k2", "C", "off"));
  job.logs = read(dir, "t.log", log.text(), job.components);
  const auto causes = explain_misses(job);
  ASSERT_EQ(causes.size(), 3u);
  for (const MissCause& cause : causes) EXPECT_FALSE(cause.has_nearest);
}

TEST(TraceJob, AMissIsComparedWithAnotherTrace) {
  const base::TempDir dir;
  TraceJob job;
  job.other = read(dir, "o.log",
                   TestLog().artifact("fx_graph_cache_miss", "5/0", miss("k", "A", "off")).text(),
                   job.components);
  job.logs = read(dir, "t.log",
                  TestLog().artifact("fx_graph_cache_miss", "0/0", miss("k2", "A", "on")).text(),
                  job.components);
  const auto causes = explain_misses(job);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_TRUE(causes[0].in_other);
  ASSERT_EQ(causes[0].changes.size(), 1u);
  EXPECT_EQ(causes[0].changes[0].name, "config[tune]");
}

TEST(TraceJob, WhatAnotherRankIsStillCompilingIsNotGone) {
  const base::TempDir dir;
  const auto asked = [](double at_s) {  // and compiled for 3 s
    return fmt::format(R"({{"key": "k", "cache_event_time": {:.0f}, "time_taken_ns": 3000000000, )"
                       R"("components": ["[A] gm: graph"]}})",
                       at_s * 1e9);
  };
  // Rank 0 looks later than rank 1; then both find it in another attempt.
  for (const auto& [looked_s, being_made] : {std::pair(101.5, true), std::pair(104.5, false)}) {
    TraceJob job;
    std::vector<std::string> files;
    for (int rank = 0; rank < 2; ++rank) {
      TestLog first, second;
      first.rank(rank).artifact("fx_graph_cache_miss", "0/0", asked(rank == 0 ? looked_s : 101));
      second.rank(rank).artifact("fx_graph_cache_hit", "0/0", asked(200));
      for (const auto& [log, name] : {std::pair(&first, "a"), std::pair(&second, "b")}) {
        files.push_back(dir.write(
            fmt::format("dedicated_log_torch_trace_rank_{}_{}.log", rank, name), log->text()));
      }
    }
    auto logs = read_logs(files, {}, job.components, {});
    ASSERT_TRUE(logs.ok());
    job.logs = std::move(*logs);
    const auto causes = explain_misses(job);
    ASSERT_EQ(causes.size(), 2u);
    EXPECT_EQ(job.logs[causes[0].miss.log].rank, 0);
    ASSERT_TRUE(causes[0].has_nearest);
    EXPECT_EQ(job.logs[causes[0].nearest.log].rank, 1);
    EXPECT_TRUE(causes[0].changes.empty());
    EXPECT_EQ(causes[0].being_made, being_made) << looked_s;
    EXPECT_FALSE(causes[1].has_nearest) << "nobody had asked for it before";
  }
}

TEST(TraceJob, RanksThatDiffer) {
  const base::TempDir dir;
  ComponentTable table;
  TraceJob job;
  std::vector<std::string> files;
  for (int rank = 0; rank < 4; ++rank) {
    TestLog log;
    log.rank(rank).metrics("0/0", "forward", 1, 1);
    if (rank != 2) log.metrics("0/1", "forward", 2, 1);
    log.metrics("1/0", rank == 3 ? "other" : "loss", 3, 1);
    files.push_back(
        dir.write(fmt::format("dedicated_log_torch_trace_rank_{}_x.log", rank), log.text()));
  }
  auto logs = read_logs(files, {}, job.components, {});
  ASSERT_TRUE(logs.ok());
  job.logs = std::move(*logs);
  const auto found = compare_ranks(job);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].id.text(), "0/1");
  EXPECT_EQ(found[0].how, "not compiled by these");
  EXPECT_EQ(found[0].ranks, std::vector<std::int32_t>{2});
  EXPECT_EQ(found[1].how, "another function");
  EXPECT_EQ(found[1].ranks, std::vector<std::int32_t>{3});
}

std::vector<Divergence> graphs_compared(const std::vector<std::string>& graphs) {
  const base::TempDir dir;
  TraceJob job;
  std::vector<std::string> files;
  for (std::size_t rank = 0; rank < graphs.size(); ++rank) {
    TestLog log;
    log.rank(static_cast<int>(rank));
    if (!graphs[rank].empty()) {
      log.add("dynamo_output_graph", R"({"sizes": {}})", "0/0", "an earlier attempt");
      log.add("dynamo_output_graph", R"({"sizes": {}})", "0/0", graphs[rank]);
    }
    log.metrics("0/0", "forward", 1, 1);
    files.push_back(
        dir.write(fmt::format("dedicated_log_torch_trace_rank_{}_x.log", rank), log.text()));
  }
  auto logs = read_logs(files, {}, job.components, {});
  EXPECT_TRUE(logs.ok());
  job.logs = std::move(*logs);
  return compare_ranks(job);
}

TEST(TraceJob, GraphsOfOneSizeDifferByTheirText) {
  const auto graph = [](int device, std::string_view op) {
    return fmt::format("x: \"f32[8]cuda:{0}\" = {1}(x);\nto(device(type='cuda', index={0}))",
                       device, op);
  };
  const auto found = graphs_compared({graph(0, "relu"), graph(1, "relu"), graph(12, "gelu")});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].how, "another graph");
  EXPECT_EQ(found[0].ranks, std::vector<std::int32_t>{2});
  EXPECT_TRUE(graphs_compared({graph(0, "relu"), graph(1, "relu"), graph(12, "relu")}).empty());
  EXPECT_TRUE(graphs_compared({graph(0, "relu"), graph(1, "gelu"), ""}).empty()) << "not all told";
  EXPECT_EQ(graphs_compared({"x[8]", "x[9]"}).size(), 1u) << "only a device's number is left out";
}

TEST(TraceJob, WhichFilesAreLogs) {
  const base::TempDir dir;
  dir.write("a/dedicated_log_torch_trace_rank_1_x.log", "");
  dir.write("a/deeper/dedicated_log_torch_trace_rank_0_x.log", "");
  dir.write("a/other.log", "");
  dir.write("b/renamed.log", "");
  dir.write("c/readme.txt", "");
  auto found = find_logs({dir.path() + "/a"});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->size(), 2u);
  EXPECT_EQ(find_logs({dir.path() + "/b"})->size(), 1u);
  EXPECT_EQ(find_logs({dir.path() + "/c/readme.txt"})->size(), 1u);
  EXPECT_FALSE(find_logs({dir.path() + "/c"}).ok());
  EXPECT_FALSE(find_logs({dir.path() + "/d"}).ok());
}

TEST(TraceJob, NotALogIsToldSo) {
  const base::TempDir dir;
  ComponentTable table;
  const auto logs = read_logs({dir.write("x.log", "hello\nworld\n")}, {}, table, {});
  ASSERT_FALSE(logs.ok());
  EXPECT_NE(logs.status().message().find("2 other lines"), std::string::npos);
}

// Twenty ranks that say the same, each with much to keep.
std::vector<std::string> twenty_ranks(const base::TempDir& dir) {
  std::vector<std::string> files;
  for (int rank = 0; rank < 20; ++rank) {
    TestLog text;
    text.rank(rank);
    for (int i = 0; i < 50; ++i) {
      const std::string id = fmt::format("{}/0", i);
      text.artifact(fmt::format("a_text_with_a_long_name_{}", i), id, "a graph");
      text.artifact("fx_graph_cache_miss", id, fmt::format(R"({{"key": "{:0>60}"}})", i));
      text.metrics(id, "f", 100 + i, 1);
    }
    files.push_back(dir.write(fmt::format("{}.log", rank), text.text()));
  }
  return files;
}

TEST(TraceRoom, AllLogsTogetherHaveOne) {
  const base::TempDir dir;
  const std::vector<std::string> files = twenty_ranks(dir);
  constexpr std::size_t kBytes = 1 << 20;
  TraceRoom room(kBytes);
  TraceJob job;
  TraceReadOptions options;
  options.room = &room;
  auto logs = read_logs(files, options, job.components, {});
  ASSERT_TRUE(logs.ok());
  job.logs = std::move(*logs);
  EXPECT_LE(room.held(), kBytes + (64 << 10));
  std::size_t compiles = 0, whole = 0, rows_only = 0;
  for (const ProcessLog& log : job.logs) {
    EXPECT_EQ(log.counts.records, 150u) << "all of it was read";
    EXPECT_EQ(log.left_out, 0u);
    compiles += log.compiles.size();
    const bool details = !log.compiles.empty() && !log.compiles.back().artifacts.empty();
    whole += log.no_room == 0 && log.has_all && details ? 1 : 0;
    rows_only += log.has_all && !details ? 1 : 0;
    EXPECT_EQ(log.has_all, log.compiles.size() == 50);
  }
  EXPECT_LT(compiles, 20u * 50);
  EXPECT_GT(whole, 3u);
  EXPECT_GT(rows_only, 0u) << "texts and keys go first";
  EXPECT_TRUE(compare_ranks(job).empty()) << "what was left out was compiled all the same";
}

TEST(TraceRoom, WhatIsOfOtherRanksIsGivenBack) {
  const base::TempDir dir;
  const std::vector<std::string> files = twenty_ranks(dir);
  TraceRoom room(1 << 20);
  ComponentTable components;
  TraceReadOptions options;
  options.room = &room;
  options.rank = 17;
  auto logs = read_logs(files, options, components, {});
  ASSERT_TRUE(logs.ok());
  ASSERT_EQ(logs->size(), 20u);
  for (const ProcessLog& log : *logs) {
    EXPECT_EQ(log.compiles.size(), log.rank == 17 ? 50u : 0u);
    EXPECT_EQ(log.no_room, 0u);
  }
  EXPECT_LT(room.held(), std::size_t{1} << 19);
}

}  // namespace
}  // namespace headway::compile
