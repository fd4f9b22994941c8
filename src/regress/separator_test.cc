#include "regress/separator.h"

#include <gtest/gtest.h>

#include <numeric>

namespace headway::regress {
namespace {

using fleet::AttemptFacts;
using fleet::Dimension;

struct Attempts {
  std::vector<AttemptFacts> facts;
  std::vector<std::size_t> before, after;

  void add(bool is_after, std::size_t count, const std::string& torch,
           const std::vector<std::string>& levers = {}) {
    for (std::size_t i = 0; i < count; ++i) {
      (is_after ? after : before).push_back(facts.size());
      AttemptFacts& each = facts.emplace_back();
      each.dimensions[static_cast<std::size_t>(Dimension::torch)] = torch;
      each.dimensions[static_cast<std::size_t>(Dimension::team)] = i % 2 == 0 ? "ads" : "feed";
      each.levers = levers;
      each.hosts = {"h" + std::to_string(i % 10)};
    }
  }
  [[nodiscard]] std::vector<Separator> find() const { return separators(facts, before, after); }
};

TEST(Separators, AVersionThatCameWithTheChange) {
  Attempts attempts;
  attempts.add(false, 100, "2.8");
  attempts.add(true, 100, "2.9");
  const auto found = attempts.find();
  ASSERT_EQ(found.size(), 2u);  // what came, what left; neither teams nor hosts
  EXPECT_EQ(found[0].field, "torch");
  EXPECT_EQ(found[0].value, "2.9");
  EXPECT_EQ(found[0].before_pct, 0);
  EXPECT_EQ(found[0].after_pct, 100);
  EXPECT_NEAR(found[0].score, 1, 1e-12);
  EXPECT_EQ(found[1].value, "2.8");
}

// Before: 50 of 100, after: 100 of 100. H = 1 bit; with: 150 of H(1/3) = 0.9183, without: 0.
TEST(Separators, TheScoreIsTheShareOfInformation) {
  Attempts attempts;
  attempts.add(false, 50, "2.8");
  attempts.add(false, 50, "2.9");
  attempts.add(true, 100, "2.9");
  const auto found = attempts.find();
  ASSERT_GE(found.size(), 1u);
  EXPECT_NEAR(found[0].score, 1 - 0.75 * 0.9182958340544896, 1e-9);
}

TEST(Separators, ALeverThatWasSwitchedOff) {
  Attempts attempts;
  attempts.add(false, 100, "2.8", {"warm_cache"});
  attempts.add(true, 80, "2.8");
  const auto found = attempts.find();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].field, "lever");
  EXPECT_EQ(found[0].value, "warm_cache");
  EXPECT_EQ(found[0].after_pct, 0);
}

TEST(Separators, ChanceIsNone) {
  Attempts attempts;
  attempts.add(false, 100, "2.8");
  attempts.add(true, 100, "2.8");
  EXPECT_TRUE(attempts.find().empty());
  EXPECT_TRUE(separators(attempts.facts, attempts.before, {}).empty());
}

// Three of three by chance: with so many values tried, it proves nothing.
TEST(Separators, FewAttemptsProveNothing) {
  Attempts attempts;
  attempts.add(false, 3, "2.8");
  attempts.add(true, 3, "2.9");
  EXPECT_TRUE(attempts.find().empty());
}

}  // namespace
}  // namespace headway::regress
