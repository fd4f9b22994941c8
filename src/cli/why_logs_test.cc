#include "cli/why_logs.h"

#include <gtest/gtest.h>

#include "base/temp_dir.h"

namespace headway::cli {
namespace {

TEST(WhyLogs, KnowsWhoseLineItIs) {
  const auto rank = [](const char* line) { return attribute_line(line, 7).rank; };
  const auto text = [](const char* line) { return attribute_line(line, 7).text; };
  EXPECT_EQ(rank("[3] loss 1.0"), 3);
  EXPECT_EQ(text("[3] loss 1.0"), "loss 1.0");
  EXPECT_EQ(rank("[rank12]: Traceback"), 12);
  EXPECT_EQ(text("[rank12]: Traceback"), " Traceback");
  EXPECT_EQ(rank(" 4: srun"), 4);
  EXPECT_EQ(rank("12:30 a time"), 7);
  EXPECT_EQ(rank("plain"), 7);
  EXPECT_EQ(text("plain"), "plain");
}

TEST(WhyLogs, FilesBearTheirRank) {
  EXPECT_EQ(rank_of_file("/a/rank-3.log"), 3);
  EXPECT_EQ(rank_of_file("rank_12.txt"), 12);
  EXPECT_EQ(rank_of_file("/rank-3/train.log"), failure::kNoRank);
  EXPECT_EQ(rank_of_file("frank3.log"), failure::kNoRank);
}

TEST(WhyLogs, ReadsLinesAndSaysWhatIsMissing) {
  const base::TempDir dir;
  std::vector<failure::OutputLine> lines;
  ASSERT_TRUE(read_log(dir.write("a.log", "one\r\n[2] two\nthree"), 0, lines).ok());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].text, "one");
  EXPECT_EQ(lines[1].rank, 2);
  EXPECT_EQ(lines[2].text, "three");
  EXPECT_FALSE(read_log(dir.path() + "/none", 0, lines).ok());
}

}  // namespace
}  // namespace headway::cli
