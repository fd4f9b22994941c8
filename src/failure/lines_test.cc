#include "failure/lines.h"

#include <gtest/gtest.h>

#include <vector>

namespace headway::failure {
namespace {

TEST(Lines, KnowsWhoseLineItIs) {
  const auto rank = [](const char* line) { return attribute_line(line, 7).rank; };
  const auto text = [](const char* line) { return attribute_line(line, 7).text; };
  EXPECT_EQ(rank("[3] loss 1.0"), 3);
  EXPECT_EQ(text("[3] loss 1.0"), "loss 1.0");
  EXPECT_EQ(rank("[rank12]: Traceback"), 12);
  EXPECT_EQ(text("[rank12]: Traceback"), "Traceback");
  EXPECT_EQ(text("[rank12]:   File \"x.py\""), "  File \"x.py\"") << "its own indentation";
  EXPECT_EQ(text("[rank12]:"), "");
  EXPECT_EQ(rank(" 4: srun"), 4);
  EXPECT_EQ(text("4: srun"), "srun");
  for (const char* line : {"12:30 a time", "plain", "[3]loss", "[rank3] x", "[", "", "     4: x",
                           "12345678: x", "[x] y", "4:"}) {
    EXPECT_EQ(rank(line), 7) << line;
    EXPECT_EQ(text(line), line);
  }
}

TEST(Lines, EndsOfAllKinds) {
  std::vector<LineView> lines;
  const auto keep = [&](const LineView& line) { lines.push_back(line); };
  each_line("one\r\n[2] two\n\n 1%|\r 2%|\r\nlast", 0, true, keep);
  std::vector<std::string_view> texts;
  for (const LineView& line : lines) texts.push_back(line.text);
  EXPECT_EQ(texts, (std::vector<std::string_view>{"one", "two", "", " 1%|", " 2%|", "last"}));
  EXPECT_EQ(lines[1].rank, 2);
  EXPECT_EQ(lines[5].rank, 0);
  lines.clear();
  each_line("[2] two\n", 0, false, keep);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].text, "[2] two") << "a rank's own output may look like that";
  EXPECT_EQ(lines[0].rank, 0);
}

}  // namespace
}  // namespace headway::failure
