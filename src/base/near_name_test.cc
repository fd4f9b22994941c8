#include "base/near_name.h"

#include <gtest/gtest.h>

namespace headway::base {
namespace {

TEST(Nearness, CountsLettersUpToAThirdOfTheWord) {
  EXPECT_EQ(nearness("report", "report"), 0u);
  EXPECT_EQ(nearness("reprot", "report"), 1u);
  EXPECT_EQ(nearness("shwo", "show"), 1u);
  EXPECT_EQ(nearness("sl", "ls"), 1u);
  EXPECT_EQ(nearness("wsho", "show"), std::nullopt);
  EXPECT_EQ(nearness("rn", "run"), 1u);
  EXPECT_EQ(nearness("doctr", "doctor"), 1u);
  EXPECT_EQ(nearness("stats", "report"), std::nullopt);
  EXPECT_EQ(nearness("", "run"), std::nullopt);
  EXPECT_EQ(nearness("x", ""), 1u);
}

}  // namespace
}  // namespace headway::base
