#include "interchange/export_families.h"

#include <gtest/gtest.h>

namespace headway::interchange {
namespace {

std::vector<Family> some() {
  Families out;
  out.begin("a_seconds", FamilyType::counter, "seconds", "A time.");
  out.add({{"x", "1\"\\\n"}}, Seconds{1'500'000'000});
  out.begin("b", FamilyType::gauge, "", "A number.");
  out.add({}, std::uint64_t{7});
  out.begin("c_ratio", FamilyType::gauge, "ratio", "A share.");
  out.add({}, 0.25);
  out.begin("d_seconds", FamilyType::histogram, "seconds", "Lengths.").bounds = {1, 10};
  out.add({{"x", "y"}}, Histogram{{1, 0, 2}, Seconds{25'000'000'001}});
  out.begin("empty", FamilyType::gauge, "", "Nothing.");
  return out.take();
}

TEST(Families, AsOpenMetrics) {
  EXPECT_EQ(to_text(some(), TextFormat::openmetrics), R"(# TYPE a_seconds counter
# UNIT a_seconds seconds
# HELP a_seconds A time.
a_seconds_total{x="1\"\\\n"} 1.5
# TYPE b gauge
# HELP b A number.
b 7
# TYPE c_ratio gauge
# UNIT c_ratio ratio
# HELP c_ratio A share.
c_ratio 0.25
# TYPE d_seconds histogram
# UNIT d_seconds seconds
# HELP d_seconds Lengths.
d_seconds_bucket{x="y",le="1.0"} 1
d_seconds_bucket{x="y",le="10.0"} 1
d_seconds_bucket{x="y",le="+Inf"} 3
d_seconds_count{x="y"} 3
d_seconds_sum{x="y"} 25.000000001
# EOF
)");
}

TEST(Families, TheOlderFormatKnowsACounterByItsSamples) {
  const std::string text = to_text(some(), TextFormat::prometheus);
  EXPECT_NE(text.find("# TYPE a_seconds_total counter\n# HELP a_seconds_total A time.\n"),
            std::string::npos);
  EXPECT_EQ(text.find("UNIT"), std::string::npos);
  EXPECT_EQ(text.find("EOF"), std::string::npos);
}

TEST(Families, DeviceTimeBeyond64Bits) {
  Families out;
  out.begin("a_seconds", FamilyType::counter, "seconds", "A time.");
  out.add({}, Seconds{base::Int128{INT64_MAX} * 100});
  out.add({}, Seconds{-1});
  const std::string text = to_text(out.all(), TextFormat::openmetrics);
  EXPECT_NE(text.find("a_seconds_total 922337203685.4775807\n"), std::string::npos) << text;
  EXPECT_NE(text.find("a_seconds_total -0.000000001\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace headway::interchange
