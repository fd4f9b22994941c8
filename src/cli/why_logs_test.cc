#include "cli/why_logs.h"

#include <gtest/gtest.h>

#include "base/temp_dir.h"

namespace headway::cli {
namespace {

TEST(WhyLogs, FilesBearTheirRank) {
  EXPECT_EQ(rank_of_file("/a/rank-3.log"), 3);
  EXPECT_EQ(rank_of_file("rank_12.txt"), 12);
  EXPECT_EQ(rank_of_file("/rank-3/train.log"), failure::kNoRank);
  EXPECT_EQ(rank_of_file("frank3.log"), failure::kNoRank);
}

TEST(WhyLogs, TheEndOfAFile) {
  const base::TempDir dir;
  const std::string path = dir.write("a.log", "one\ntwo\nthree\n");
  EXPECT_EQ(read_end(path, 100).value(), "one\ntwo\nthree\n");
  EXPECT_EQ(read_end(path, 9).value(), "three\n") << "half a line is left out";
  EXPECT_EQ(read_end(dir.write("b", "abcdef"), 3).value(), "def") << "there is nothing else";
  EXPECT_EQ(read_end(path, 0).value(), "");
  EXPECT_EQ(read_end(dir.path() + "/none", 9).status().code(), base::Code::not_found);
}

TEST(WhyLogs, AllRanksTheFirstToFailFirst) {
  const base::TempDir dir;
  for (const int rank : {0, 2, 10}) {
    dir.write("rank-" + std::to_string(rank) + ".log", std::to_string(rank) + "\n");
  }
  dir.write("rank-2.log.1", "older\n");
  dir.write("agent.log", "not a rank's\n");
  dir.write("rank-7.log", "");
  const auto logs = read_rank_logs(dir.path(), 2);
  ASSERT_EQ(logs.size(), 3u);
  EXPECT_EQ(logs[0].rank, 2);
  EXPECT_EQ(logs[0].text, "older\n2\n");
  EXPECT_EQ(logs[1].rank, 0);
  EXPECT_EQ(logs[2].rank, 10);
  EXPECT_TRUE(read_rank_logs(dir.path() + "/none", 0).empty());
}

TEST(WhyLogs, OfEachRankTheEnd) {
  const base::TempDir dir;
  std::string line(1023, 'x');
  line += '\n';
  std::string half;
  while (half.size() < rank_log_bytes_max / 2 + line.size()) half += line;
  dir.write("rank-0.log", half);
  dir.write("rank-0.log.1", "first\n" + half);
  const auto logs = read_rank_logs(dir.path(), 0);
  ASSERT_EQ(logs.size(), 1u);
  EXPECT_LE(logs[0].text.size(), rank_log_bytes_max);
  EXPECT_GT(logs[0].text.size(), rank_log_bytes_max - 2 * line.size());
  EXPECT_TRUE(logs[0].text.starts_with("xxx"));
}

TEST(WhyLogs, TheTailIsTheRanksOwn) {
  failure::Evidence evidence;
  evidence.logs.push_back({0, "[1] a\nb\n[1] password=fake\nc\n", true});
  const auto lines = [&](int rank) { return tail_of(evidence, rank).lines; };
  EXPECT_EQ(lines(1), (std::vector<std::string>{"a", "password=[redacted:password]"}));
  EXPECT_EQ(lines(0), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(lines(failure::kNoRank).size(), 4u);
  evidence.logs.push_back({1, "more\n", false});
  EXPECT_TRUE(lines(failure::kNoRank).empty()) << "nobody's in particular";
  EXPECT_EQ(lines(1).back(), "more");
}

}  // namespace
}  // namespace headway::cli
