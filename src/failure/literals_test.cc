#include "failure/literals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <random>

namespace headway::failure {
namespace {

using testing::UnorderedElementsAre;

std::vector<int> found_in(const LiteralSet& set, std::string_view text) {
  std::vector<int> found = {77};
  set.find(text, found);
  EXPECT_EQ(set.any(text), !found.empty());
  return found;
}

TEST(LiteralSet, FindsEachOnceWhereverItStands) {
  const LiteralSet set({"out of memory", "nan", "Memory", "oom"});
  EXPECT_THAT(found_in(set, "CUDA out of memory, OUT OF MEMORY"), UnorderedElementsAre(0, 2));
  EXPECT_THAT(found_in(set, "nan"), UnorderedElementsAre(1));
  EXPECT_THAT(found_in(set, "xxxxxNaN"), UnorderedElementsAre(1));
  EXPECT_THAT(found_in(set, "out of memor"), UnorderedElementsAre());
  EXPECT_THAT(found_in(set, "na"), UnorderedElementsAre());
  EXPECT_THAT(found_in(set, ""), UnorderedElementsAre());
}

TEST(LiteralSet, NonLettersAreNotFolded) {
  const LiteralSet set({"[a]", "a\x80z"});
  EXPECT_THAT(found_in(set, "{a}"), UnorderedElementsAre());
  EXPECT_THAT(found_in(set, "x[A]"), UnorderedElementsAre(0));
  EXPECT_THAT(found_in(set, "A\x80Z"), UnorderedElementsAre(1));
  EXPECT_THAT(found_in(set, "A\xA0Z"), UnorderedElementsAre());
}

TEST(LiteralSet, NothingToFind) {
  EXPECT_FALSE(LiteralSet({}).any("anything"));
}

// Against the plain search, over a small alphabet so that literals overlap and nest.
TEST(LiteralSet, AgreesWithThePlainSearch) {
  constexpr unsigned kSeed = 4242;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  const auto word = [&](std::size_t bytes) {
    std::string text(bytes, ' ');
    for (char& c : text) c = "abAB[{"[random() % 6];
    return text;
  };
  const auto lowered = [](std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  };
  for (int round = 0; round < 400; ++round) {
    std::vector<std::string> literals;
    for (auto i = random() % 20; i > 0; --i) literals.push_back(word(3 + random() % 5));
    const LiteralSet set(literals);
    for (int line = 0; line < 20; ++line) {
      const std::string text = word(random() % 40);
      std::vector<int> expected;
      for (std::size_t i = 0; i < literals.size(); ++i) {
        if (lowered(text).find(lowered(literals[i])) != std::string::npos) {
          expected.push_back(static_cast<int>(i));
        }
      }
      std::vector<int> found = found_in(set, text);
      std::sort(found.begin(), found.end());
      ASSERT_EQ(found, expected) << text;
    }
  }
}

}  // namespace
}  // namespace headway::failure
