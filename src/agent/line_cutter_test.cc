#include "agent/line_cutter.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace headway::agent {
namespace {

std::string cut_all(std::string_view text, std::size_t piece) {
  LineCutter cutter("> ");
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += piece) cutter.feed(text.substr(at, piece), out);
  cutter.finish(out);
  return out;
}

TEST(LineCutter, PrefixesWholeLinesAndFlushesTheLast) {
  LineCutter cutter("> ");
  std::string out;
  cutter.feed("one\ntw", out);
  EXPECT_EQ(out, "> one\n");
  cutter.feed("o\n\nthree", out);
  EXPECT_EQ(out, "> one\n> two\n> \n");
  cutter.finish(out);
  EXPECT_EQ(out, "> one\n> two\n> \n> three\n");
  cutter.finish(out);
  EXPECT_EQ(out, "> one\n> two\n> \n> three\n") << "nothing is left to flush";
}

TEST(LineCutter, AProgressBarIsLively) {
  LineCutter cutter("> ");
  std::string out;
  cutter.feed("\r 5%", out);
  cutter.feed("\r10%\r", out);
  EXPECT_EQ(out, "\r>  5%\r");
  cutter.feed("\n", out);
  EXPECT_EQ(out, "\r>  5%\r> 10%\r\n");
}

TEST(LineCutter, BinaryBytesPass) {
  const std::string text("a\0b\xff\n\0", 6);
  EXPECT_EQ(cut_all(text, 1), std::string("> a\0b\xff\n> \0\n", 11));
}

TEST(LineCutter, ALongLineComesInBoundedPieces) {
  constexpr std::size_t kMax = LineCutter::line_bytes_max;
  const std::string out = cut_all(std::string(2 * kMax + 5, 'x') + "\n", 1000);
  EXPECT_EQ(out, "> " + std::string(kMax, 'x') + "\n> " + std::string(kMax, 'x') + "\n> xxxxx\n");
}

TEST(LineCutter, AnyCutOfTheStreamGivesTheSameLines) {
  const unsigned seed = 20261115;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    const int bytes = static_cast<int>(random() % 60);
    for (int i = 0; i < bytes; ++i) text += "ab\r\n"[random() % 4];
    const std::string whole = cut_all(text, 1000);
    for (const std::size_t piece : {1, 2, 3, 7}) EXPECT_EQ(cut_all(text, piece), whole);
  }
}

}  // namespace
}  // namespace headway::agent
