#include "cli/page.h"

#include <gtest/gtest.h>

namespace headway::cli {
namespace {

constexpr Style kUnicode{.color = false, .unicode = true, .width = 60};
constexpr Style kAscii{.color = false, .unicode = false, .width = 60};

TEST(Columns, CountsWhatIsSeen) {
  EXPECT_EQ(columns_of("abc"), 3);
  EXPECT_EQ(columns_of("a–█"), 3);
  EXPECT_EQ(columns_of("日本"), 4);
  EXPECT_EQ(columns_of("e\xCC\x81"), 1);     // e and a combining acute
  EXPECT_EQ(columns_of("a\xFF\xC3"), 3);     // invalid bytes: one each
  EXPECT_EQ(columns_of("\xC0\x80"), 2);      // overlong
  EXPECT_EQ(columns_of("\xED\xA0\x80"), 3);  // a surrogate
}

TEST(Columns, PrefixKeepsCharactersWhole) {
  EXPECT_EQ(prefix_of("a–b", 2), "a–");
  EXPECT_EQ(prefix_of("日本", 3), "日");
  EXPECT_EQ(prefix_of("abc", 9), "abc");
  EXPECT_EQ(prefix_of("abc", 0), "");
}

TEST(Clean, NoEscapeCodeReachesTheTerminal) {
  EXPECT_EQ(clean("\x1b[31mred\a\x7f", kUnicode), "?[31mred??");
  EXPECT_EQ(clean("two\nlines\tand", kUnicode), "two lines and");
  EXPECT_EQ(clean("\xC2\x9B"
                  "31m",
                  kUnicode),
            "?31m");  // C1 control sequence introducer
  EXPECT_EQ(clean("a\xE2\x80\xAE"
                  "b",
                  kUnicode),
            "a?b");  // right-to-left override
  EXPECT_EQ(clean("a\xFF"
                  "b",
                  kUnicode),
            "a?b");
  EXPECT_EQ(clean("Größe", kUnicode), "Größe");
  EXPECT_EQ(clean("Größe", kAscii), "Gr??e");
}

TEST(Wrap, BreaksAtSpaces) {
  EXPECT_EQ(wrap("one two  three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("unbreakable x", 4), (std::vector<std::string>{"unbreakable", "x"}));
  EXPECT_TRUE(wrap("", 10).empty());
}

TEST(Line, AlignsAndCuts) {
  EXPECT_EQ(Line().add("ab").to(5).add("c").render(kUnicode), "ab   c");
  EXPECT_EQ(Line().add("abcdef").to(3).add("g").render(kUnicode), "abcdef g");
  EXPECT_EQ(Line().add("a").right("12", 8).render(kUnicode), "a     12");
  EXPECT_EQ(Line().add("x").to(9).render(kUnicode), "x");  // no spaces at the end
  const Line longer = Line().add(std::string(59, 'x')).add("–yz");
  EXPECT_EQ(longer.render(kUnicode), std::string(59, 'x') + "…");
  EXPECT_EQ(columns_of(longer.render(kUnicode)), kUnicode.width);
  EXPECT_EQ(Line().add(std::string(70, 'x')).render(kAscii), std::string(59, 'x') + "~");
}

TEST(Line, InkOnlyInColour) {
  const Line line = Line().add("a", Ink::down).add("b");
  EXPECT_EQ(line.render(kUnicode), "ab");
  EXPECT_EQ(line.render({.color = true, .unicode = true, .width = 60}), "\x1b[31ma\x1b[0mb");
}

TEST(Bar, IsProportional) {
  EXPECT_EQ(bar(1, 2, 4, kUnicode), "██");
  EXPECT_EQ(bar(1, 16, 4, kUnicode), "▎");
  EXPECT_EQ(bar(1, 1'000'000, 4, kUnicode), "▏");  // something is not nothing
  EXPECT_EQ(bar(0, 10, 4, kUnicode), "");
  EXPECT_EQ(bar(10, 10, 4, kUnicode), "████");
  EXPECT_EQ(bar(20, 10, 4, kAscii), "####");
  EXPECT_EQ(bar(1, 1'000'000, 4, kAscii), ".");
  EXPECT_EQ(bar(INT64_MAX / 2, INT64_MAX, 100, kAscii).size(), 50u);
}

}  // namespace
}  // namespace headway::cli
