#include "agent/notice.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace headway::agent {
namespace {

constexpr SignalSet bit(int signal) {
  return SignalSet{1} << (signal - 1);
}

TEST(ParseCaught, ReadsTheMask) {
  EXPECT_EQ(parse_caught("Name:\tpython\nSigCgt:\t0000000000004200\nCapInh:\t0\n"),
            bit(SIGUSR1) | bit(SIGTERM));
  EXPECT_FALSE(parse_caught("Name:\tSigCgt\n").has_value());
  EXPECT_FALSE(parse_caught("Name:\tx\nSigCgt:\t\n").has_value());
}

TEST(CaughtSignals, SeesAHandler) {
  const auto before = std::signal(SIGUSR1, [](int) {});
  const auto with = caught_signals(::getpid());
  std::signal(SIGUSR1, SIG_DFL);
  const auto without = caught_signals(::getpid());
  std::signal(SIGUSR1, before);
  ASSERT_TRUE(with.has_value() && without.has_value());
  EXPECT_EQ(*with & bit(SIGUSR1), bit(SIGUSR1));
  EXPECT_EQ(*without & bit(SIGUSR1), 0u);
}

TEST(UserSignalFor, IsNeverOneThatKills) {
  EXPECT_EQ(user_signal_for(bit(SIGUSR1) | bit(SIGTERM), SIGUSR1, true), SIGUSR1);
  EXPECT_EQ(user_signal_for(bit(SIGTERM), SIGUSR1, true), SIGTERM);
  EXPECT_EQ(user_signal_for(bit(SIGINT), SIGUSR1, true), 0) << "it trains on while it may";
}

TEST(UserSignalFor, WhereNothingEndsSigtermWouldBeALie) {
  EXPECT_EQ(user_signal_for(bit(SIGUSR1), SIGUSR1, false), SIGUSR1);
  EXPECT_EQ(user_signal_for(bit(SIGTERM), SIGUSR1, false), 0);
}

TEST(UserSignalFor, WhereNothingCanBeSeenTheSignalIsPassedOn) {
  EXPECT_EQ(user_signal_for(std::nullopt, SIGUSR1, true), SIGUSR1);
}

}  // namespace
}  // namespace headway::agent
