#include "base/clock.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace headway::base {
namespace {

TEST(Clock, RealAnchorGoesThereAndBack) {
  const RealAnchor anchor = take_real_anchor();
  const auto parsed = parse_real_anchor(to_text(anchor));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->boot, anchor.boot);
  EXPECT_EQ(parsed->monotonic_ns, anchor.monotonic_ns);
  EXPECT_EQ(parsed->real_ns, anchor.real_ns);
  EXPECT_EQ(boot_id(), anchor.boot);
}

TEST(Clock, RealAnchorAcceptsTheKernelsSpellingOfABootId) {
  const auto parsed = parse_real_anchor("00112233-4455-6677-8899-aabbccddeeFF:-5:7");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->boot[15], 0xFF);
  EXPECT_EQ(parsed->monotonic_ns, -5);
}

TEST(Clock, RealAnchorRefusesNonsense) {
  const std::string id(32, '0');
  for (const std::string& bad :
       {std::string(), std::string(":"), std::string("::"), id, id + ":1", id + ":1:", id + ":x:1",
        id + ":1:2:3", id + "0:1:2", std::string("zz") + id.substr(2) + ":1:2",
        id + ":99999999999999999999:1"}) {
    EXPECT_FALSE(parse_real_anchor(bad).has_value()) << bad;
  }
}

TEST(Clock, FallsBackToMonotonicWhenTold) {
  ::setenv("HEADWAY_CLOCK", "monotonic", 1);
  const TickClock clock = tick_clock_from("3000000000");
  ::unsetenv("HEADWAY_CLOCK");
  EXPECT_EQ(clock.kind, TickKind::monotonic_ns);
  EXPECT_EQ(clock.hz, 1'000'000'000u);
  const Instant now = take_instant(clock.kind);
  EXPECT_EQ(static_cast<std::int64_t>(now.ticks), now.monotonic_ns);
}

TEST(Clock, AnImplausibleRateIsNotBelieved) {
  if (!tsc_is_invariant()) GTEST_SKIP() << "no invariant tick counter";
  const TickClock measured = calibrate_tick_clock(20'000'000);
  for (const char* text : {"1", "-5", "99999999999999999999", "abc", "", "3000000000x"}) {
    const TickClock clock = tick_clock_from(text);
    EXPECT_EQ(clock.kind, TickKind::tsc);
    EXPECT_NEAR(static_cast<double>(clock.hz), static_cast<double>(measured.hz),
                static_cast<double>(measured.hz) * 0.02)
        << text;
  }
  const std::string twice = std::to_string(measured.hz * 2);
  EXPECT_NE(tick_clock_from(twice.c_str()).hz, measured.hz * 2);
  const std::string same = std::to_string(measured.hz);
  EXPECT_EQ(tick_clock_from(same.c_str()).hz, measured.hz);
}

TEST(Clock, InstantsAreOrderedAndAgree) {
  const TickClock clock = calibrate_tick_clock(1'000'000);
  const Instant first = take_instant(clock.kind);
  const Instant second = take_instant(clock.kind);
  EXPECT_GT(second.ticks, first.ticks);
  EXPECT_GE(second.monotonic_ns, first.monotonic_ns);
  EXPECT_GT(first.real_ns, 0);
}

}  // namespace
}  // namespace headway::base
