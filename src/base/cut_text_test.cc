#include "base/cut_text.h"

#include <gtest/gtest.h>

namespace headway::base {
namespace {

TEST(CutText, TheBeginAndTheEndStay) {
  EXPECT_EQ(cut_in_the_middle("short", 5), "short");
  EXPECT_EQ(cut_in_the_middle("short", 160), "short");
  const std::string text = "CheckpointError: checkpointer: /" + std::string(200, 'd') +
                           " holds checkpoints of an earlier run: call restore() before the first "
                           "save to go on from them, or save into another folder";
  const std::string cut = cut_in_the_middle(text, 160);
  EXPECT_LE(cut.size(), 160u);
  EXPECT_TRUE(cut.starts_with("CheckpointError: checkpointer:")) << cut;
  EXPECT_TRUE(cut.ends_with("save to go on from them, or save into another folder")) << cut;
  EXPECT_NE(cut.find(" … "), std::string::npos);
}

TEST(CutText, NoCharacterIsCut) {
  const std::string euros = [] {
    std::string out;
    for (int i = 0; i < 40; ++i) out += "€";
    return out;
  }();
  for (std::size_t bytes = 0; bytes < euros.size() + 2; ++bytes) {
    const std::string cut = cut_in_the_middle(euros, bytes);
    EXPECT_LE(cut.size(), bytes);
    std::size_t i = 0;
    while (i < cut.size()) {
      const bool gap = cut.compare(i, 5, " … ") == 0;
      EXPECT_TRUE(gap || cut.compare(i, 3, "€") == 0) << bytes << ": " << cut;
      i += gap ? 5 : 3;
    }
  }
}

TEST(CutText, BytesThatAreNoTextAreCutSomewhere) {
  const std::string odd(300, '\x80');
  for (std::size_t bytes = 0; bytes < 310; ++bytes) {
    EXPECT_LE(cut_in_the_middle(odd, bytes).size(), bytes);
  }
}

}  // namespace
}  // namespace headway::base
