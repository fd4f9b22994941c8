#include "net/percent.h"

#include <gtest/gtest.h>

namespace headway::net {
namespace {

using Query = std::vector<std::pair<std::string, std::string>>;

TEST(Percent, TargetsAreSplitAndDecoded) {
  std::string path;
  Query query;
  ASSERT_TRUE(split_target("/jobs/a%20b?from=1%2B1&name=x+y&flag&=v&&e=", path, query));
  EXPECT_EQ(path, "/jobs/a b");
  EXPECT_EQ(query, (Query{{"from", "1+1"}, {"name", "x y"}, {"flag", ""}, {"", "v"}, {"e", ""}}));
  ASSERT_TRUE(split_target("/", path, query));
  EXPECT_TRUE(query.empty());
}

TEST(Percent, WhatIsNoTargetIsRefused) {
  std::string path;
  Query query;
  EXPECT_FALSE(split_target("", path, query));
  EXPECT_FALSE(split_target("http://elsewhere/", path, query));
  EXPECT_FALSE(split_target("*", path, query));
  EXPECT_FALSE(split_target("/a%00b", path, query));
  EXPECT_FALSE(split_target("/a%0d%0aSet-Cookie:x", path, query));
  EXPECT_FALSE(split_target("/\xc3\xa4", path, query));
  EXPECT_FALSE(split_target("/?%00=1", path, query));
}

TEST(Percent, BothWays) {
  std::string all;
  for (int c = 1; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(percent_decoded(percent_encoded(all, false), false), all);
  EXPECT_EQ(percent_encoded("a/b c", true), "a/b%20c");
  EXPECT_EQ(percent_decoded("100%", false), "100%");
  EXPECT_EQ(percent_encoded("a b/ü+*~%41.x", true), "a%20b/%C3%BC%2B%2A~%2541.x");
  EXPECT_EQ(percent_encoded("a/b", false), "a%2Fb");
  EXPECT_EQ(percent_decoded("a%20b%2fc+d%4", true), "a b/c d%4");
  EXPECT_EQ(percent_decoded("a+b%zz%", false), "a+b%zz%");
}

}  // namespace
}  // namespace headway::net
