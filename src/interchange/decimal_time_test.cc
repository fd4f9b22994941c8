#include "interchange/decimal_time.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace headway::interchange {
namespace {

TEST(DecimalTime, IsExactToTheLastNanosecond) {
  EXPECT_EQ(seconds_text_to_ns("12.5"), 12'500'000'000);
  EXPECT_EQ(seconds_text_to_ns("0"), 0);
  EXPECT_EQ(seconds_text_to_ns("-0"), 0);
  EXPECT_EQ(seconds_text_to_ns("-1.25"), -1'250'000'000);
  EXPECT_EQ(seconds_text_to_ns("1763242444.123456789"), 1'763'242'444'123'456'789);
  EXPECT_EQ(seconds_text_to_ns("1.763242444123456789e9"), 1'763'242'444'123'456'789);
  EXPECT_EQ(seconds_text_to_ns("1763242444123456789E-9"), 1'763'242'444'123'456'789);
  EXPECT_EQ(seconds_text_to_ns("0.000000001"), 1);
  EXPECT_EQ(seconds_text_to_ns("1e-9"), 1);
}

TEST(DecimalTime, RoundsWhatIsFinerThanANanosecond) {
  EXPECT_EQ(seconds_text_to_ns("0.0000000004999"), 0);
  EXPECT_EQ(seconds_text_to_ns("0.0000000005"), 1);
  EXPECT_EQ(seconds_text_to_ns("-0.0000000005"), -1);
  EXPECT_EQ(seconds_text_to_ns("5e-10"), 1);
  EXPECT_EQ(seconds_text_to_ns("9e-11"), 0);
  EXPECT_EQ(seconds_text_to_ns("1e-400"), 0);
  EXPECT_EQ(seconds_text_to_ns("0.9999999999"), 1'000'000'000);
}

TEST(DecimalTime, RefusesWhatIsNotANumberOrDoesNotFit) {
  for (const char* bad : {"",
                          "-",
                          ".5",
                          "5.",
                          "01",
                          "1e",
                          "1e+",
                          "+1",
                          "NaN",
                          "Infinity",
                          "1 ",
                          " 1",
                          "0x10",
                          "1_0",
                          "1.5.5",
                          "1e5e5",
                          "--1",
                          "1e400",
                          "4611686018.5e9",
                          "99999999999",
                          "1e99999999999999999999"}) {
    EXPECT_EQ(seconds_text_to_ns(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(seconds_text_to_ns("4611686018.427387903"), kTimeMaxNs);
  EXPECT_EQ(seconds_text_to_ns("4611686018.427387904"), std::nullopt);
  EXPECT_EQ(seconds_text_to_ns("-4611686018.427387903"), -kTimeMaxNs);
}

TEST(DecimalTime, TakesADoubleByItsShortestText) {
  EXPECT_EQ(seconds_to_ns(1763242444.123457), 1'763'242'444'123'457'000);
  EXPECT_EQ(seconds_to_ns(0.1), 100'000'000);
  EXPECT_EQ(seconds_to_ns(std::numeric_limits<double>::quiet_NaN()), std::nullopt);
  EXPECT_EQ(seconds_to_ns(std::numeric_limits<double>::infinity()), std::nullopt);
  EXPECT_EQ(seconds_to_ns(1e300), std::nullopt);
}

TEST(DecimalTime, Integers) {
  EXPECT_EQ(integer_text("-7"), -7);
  EXPECT_EQ(integer_text("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  for (const char* bad : {"9223372036854775808", "1.0", "1e3", "", "007", "true", "1x"}) {
    EXPECT_EQ(integer_text(bad), std::nullopt) << bad;
  }
}

TEST(DecimalTime, WritesWhatItReads) {
  constexpr std::uint64_t kSeed = 20260416;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 20000; ++i) {
    auto ns = static_cast<std::int64_t>(random() >> (random() % 62 + 2));
    if (i % 2 == 1) ns = -ns;
    std::string text;
    append_seconds(text, ns);
    ASSERT_EQ(seconds_text_to_ns(text), ns) << text;
  }
  std::string text;
  append_seconds(text, 12'500'000'000);
  EXPECT_EQ(text, "12.5");
}

}  // namespace
}  // namespace headway::interchange
