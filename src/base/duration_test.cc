#include "base/duration.h"

#include <gtest/gtest.h>

namespace headway::base {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

TEST(Duration, IsReadWithOrWithoutAUnit) {
  EXPECT_EQ(parse_duration("90"), 90 * kSecondNs);
  EXPECT_EQ(parse_duration("0"), 0);
  EXPECT_EQ(parse_duration("0.25"), kSecondNs / 4);
  EXPECT_EQ(parse_duration("90s"), 90 * kSecondNs);
  EXPECT_EQ(parse_duration("500ms"), kSecondNs / 2);
  EXPECT_EQ(parse_duration("1.5ms"), kSecondNs * 3 / 2000);
  EXPECT_EQ(parse_duration("1.5m"), 90 * kSecondNs);
  EXPECT_EQ(parse_duration("2h"), 7200 * kSecondNs);
  EXPECT_EQ(parse_duration("7d"), 7 * 86400 * kSecondNs);
  EXPECT_EQ(parse_duration("730d"), 730 * 86400 * kSecondNs);
  EXPECT_EQ(parse_duration("1e300d"), duration_max_ns);
  for (const char* bad :
       {"", "s", "h", "x", "-1", "-1s", "1w", "1 s", " 1", "1hs", "ms", "1sm", "inf", "nan"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
}

TEST(Duration, IsPrintedAsOneWouldTypeIt) {
  EXPECT_EQ(format_duration(3600 * kSecondNs), "1h");
  EXPECT_EQ(format_duration(90 * kSecondNs), "90s");
  EXPECT_EQ(format_duration(1800 * kSecondNs), "30m");
  EXPECT_EQ(format_duration(7 * 86400 * kSecondNs), "7d");
  EXPECT_EQ(format_duration(kSecondNs / 2), "0.5s");
  EXPECT_EQ(format_duration(0), "0s");
}

TEST(Duration, OfAnOptionHasItsBounds) {
  EXPECT_EQ(parse_time_option("--grace", "1m", 0, 3600).value(), 60 * kSecondNs);
  EXPECT_EQ(parse_time_option("--grace", "x", 0, 3600).status().message(),
            "--grace x: want seconds from 0 to 3600, or a time: 90s, 2m");
  EXPECT_FALSE(parse_time_option("--lease", "0.5", 1, 600).ok());
  EXPECT_FALSE(parse_time_option("--lease", "11m", 1, 600).ok());
}

}  // namespace
}  // namespace headway::base
