#include "failure/tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace headway::failure {
namespace {

using testing::ElementsAre;

TEST(Tail, KeepsTheLastLines) {
  Tail tail(2, 1000);
  EXPECT_TRUE(tail.lines().lines.empty());
  tail.feed("one\ntwo\nth");
  tail.feed("ree\n");
  const TailLines last = tail.lines();
  EXPECT_THAT(last.lines, ElementsAre("two", "three"));
  EXPECT_EQ(last.cut_lines, 1u);
  EXPECT_EQ(last.note(), "1 line (4 bytes) before");
  tail.clear();
  tail.feed("new");
  EXPECT_THAT(tail.lines().lines, ElementsAre("new"));
  EXPECT_EQ(tail.lines().note(), "");
}

TEST(Tail, BytesAreBoundedToo) {
  Tail tail(100, 10);
  for (int i = 0; i < 100; ++i) tail.feed("abc\n");
  const TailLines last = tail.lines();
  EXPECT_THAT(last.lines, ElementsAre("abc", "abc")) << "the one that was cut is left out";
  EXPECT_EQ(last.cut_lines, 98u);
  EXPECT_EQ(last.cut_bytes, 392u);
  tail.feed(std::string(50, 'x'));
  EXPECT_THAT(tail.lines().lines, ElementsAre(std::string(10, 'x')));
}

TEST(Tail, ABarIsWhatItShowedLast) {
  Tail tail;
  tail.feed("begin\r\n 10%|#\r 20%|##\r 30%|###\r\n\n\n");
  EXPECT_THAT(tail.lines().lines, ElementsAre("begin", " 30%|###"));
}

TEST(Tail, IsRedacted) {
  Tail tail(2);
  tail.feed(
      "-----BEGIN "
      "PRIVATE KEY-----\n" +
      std::string(64, 'A') + "\npassword=fake\n");
  EXPECT_THAT(tail.lines().lines,
              ElementsAre("[redacted:private-key]", "password=[redacted:password]"));
}

// Any cut of the stream into chunks gives the same, and what the plain way gives.
TEST(Tail, ChunksDoNotMatter) {
  constexpr unsigned kSeed = 77;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  for (int round = 0; round < 500; ++round) {
    const std::size_t bytes_max = 1 + random() % 64, lines_max = 1 + random() % 6;
    Tail whole(lines_max, bytes_max), pieces(lines_max, bytes_max);
    std::string text;
    for (auto i = random() % 200; i > 0; --i) text += "ab\n"[random() % 3];
    whole.feed(text);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t bytes = 1 + random() % 20;
      pieces.feed(std::string_view(text).substr(at, bytes));
      at += bytes;
    }
    const TailLines a = whole.lines(), b = pieces.lines();
    ASSERT_EQ(a.lines, b.lines) << text;
    ASSERT_EQ(a.cut_lines, b.cut_lines);
    ASSERT_EQ(a.cut_bytes, b.cut_bytes);
    ASSERT_LE(a.lines.size(), lines_max);
    std::size_t bytes = 0;
    for (const std::string& line : a.lines) bytes += line.size();
    ASSERT_LE(bytes, bytes_max);
    ASSERT_TRUE(a.lines.empty() || text.find(a.lines.back()) != std::string::npos);
  }
}

}  // namespace
}  // namespace headway::failure
