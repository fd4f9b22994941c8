#include "fleet/hosts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "fleet/test_facts.h"

namespace headway::fleet {
namespace {

AttemptFacts on_hosts(std::int64_t attempt, std::vector<std::string> names, double hours,
                      const std::string& failing, Origin origin = Origin::infra) {
  AttemptFacts facts = facts_by_hand(attempt, "a", static_cast<std::uint32_t>(8 * names.size()),
                                     static_cast<std::int64_t>(hours * 3.6e12), 0, 0);
  facts.hosts = std::move(names);
  facts.start = start_by_hand(facts.begin_ns, 1);
  if (!failing.empty()) {
    facts.ending = Ending::failed;
    FailureFact failure;
    failure.t_ns = facts.begin_ns;
    failure.origin = origin;
    failure.host = failing;
    failure.lost_ns = kHourNs;
    facts.failure = failure;
  }
  return facts;
}

const HostRow& host(const Hosts& found, std::string_view name) {
  const auto row = std::ranges::find(found.hosts, name, &HostRow::host);
  EXPECT_NE(row, found.hosts.end()) << name;
  return *row;
}

TEST(Hosts, ByHand) {
  FleetTable table;
  table.upsert("one", on_hosts(1, {"h1", "h2"}, 3, "h1"));
  table.upsert("two", on_hosts(1, {"h2"}, 1, "", Origin::infra));
  table.upsert("three", on_hosts(1, {"h2"}, 1, "h2", Origin::user));  // not the host's
  table.upsert("four", on_hosts(1, {"h3"}, 5, "h4"));                 // not in the list, but there
  const Hosts found = hosts(*table.snapshot(), all_days());
  EXPECT_DOUBLE_EQ(host(found, "h1").device_hours, 24);
  EXPECT_DOUBLE_EQ(host(found, "h2").device_hours, 40);
  EXPECT_DOUBLE_EQ(host(found, "h4").device_hours, 40);
  EXPECT_EQ(host(found, "h1").failures, 1u);
  EXPECT_EQ(host(found, "h2").failures, 0u);
  EXPECT_EQ(host(found, "h2").attempts, 3u);
  EXPECT_DOUBLE_EQ(host(found, "h1").expected, 2 * 24.0 / (24 + 40 + 40 + 40));
  EXPECT_DOUBLE_EQ(host(found, "h1").device_hours_lost, 16);
  EXPECT_TRUE(host(found, "h1").last_failure_ns);
  EXPECT_FALSE(host(found, "h2").last_failure_ns);
  EXPECT_DOUBLE_EQ(*found.failures_per_1000_device_hours, 1000 * 2 / 104.0);
  for (const HostRow& row : found.hosts) EXPECT_FALSE(row.lemon) << row.host;
}

TEST(Hosts, ACrashLoopIsOneFailure) {
  FleetTable table;
  for (int i = 0; i < 40; ++i) {
    table.upsert("job-" + std::to_string(i),
                 on_hosts(1, {"host-" + std::to_string(i)}, 10,
                          i % 4 == 0 ? "host-" + std::to_string(i) : ""));
  }
  for (int attempt = 2; attempt <= 30; ++attempt) {
    AttemptFacts facts = on_hosts(attempt, {"host-0"}, 0.01, "host-0", Origin::unknown);
    facts.start.reset();
    table.upsert("job-0", facts);
  }
  const Hosts found = hosts(*table.snapshot(), all_days());
  EXPECT_EQ(host(found, "host-0").failures, 1u);
  EXPECT_EQ(host(found, "host-0").attempts, 30u);
  EXPECT_FALSE(host(found, "host-0").lemon);
}

// 300 hosts with one rate; one has ten times the work, another fifteen times the rate.
std::shared_ptr<const Snapshot> fleet_of_hosts(std::uint64_t seed, bool lemon) {
  std::mt19937_64 random(seed);
  FleetTable table;
  for (int i = 0; i < 300; ++i) {
    const std::string name = "host-" + std::to_string(i);
    const double hours = i == 7 ? 1000 : 100;
    const double rate = lemon && i == 11 ? 0.15 : 0.01;  // an hour
    std::poisson_distribution<int> count(hours * rate);
    const int failures = count(random);
    for (int k = 0; k <= failures; ++k) {
      table.upsert("job-" + std::to_string(i) + "-" + std::to_string(k),
                   on_hosts(1, {name}, hours / (failures + 1), k < failures ? name : ""));
    }
  }
  return table.snapshot();
}

TEST(Hosts, FindsTheLemonAndNotTheBusyOne) {
  int found_lemon = 0, found_busy = 0, blamed = 0, fleets_blamed = 0;
  constexpr int rounds = 60;
  for (int round = 0; round < rounds; ++round) {
    const auto seed = static_cast<std::uint64_t>(1000 + round);
    const Hosts with = hosts(*fleet_of_hosts(seed, true), all_days());
    EXPECT_EQ(with.hosts.size(), hosts_shown_max);
    EXPECT_EQ(with.more, 100u);
    for (const HostRow& row : with.hosts) {
      if (!row.lemon) continue;
      found_lemon += row.host == "host-11" ? 1 : 0;
      found_busy += row.host == "host-7" ? 1 : 0;
      blamed += row.host != "host-11" ? 1 : 0;
    }
    const Hosts without = hosts(*fleet_of_hosts(seed, false), all_days());
    fleets_blamed += without.hosts[0].lemon ? 1 : 0;
  }
  std::printf(
      "seeds 1000…: of %d lemons %d found, busy hosts blamed %d, others %d; fleets without "
      "any where one is blamed %d\n",
      rounds, found_lemon, found_busy, blamed, fleets_blamed);
  EXPECT_GE(found_lemon, rounds * 9 / 10);
  EXPECT_EQ(found_busy, 0);
  EXPECT_LE(blamed, rounds / 10);
  EXPECT_LE(fleets_blamed, rounds / 10);
}

TEST(Hosts, FindsTheLemonInAMadeFleet) {
  MadeFleet::Settings settings;
  settings.seed = 5;
  settings.lemon = 100;
  MadeFleet fleet(settings);
  FleetTable table;
  for (int i = 0; i < 6000; ++i) {
    const MadeJob job = fleet.next();
    table.replace_job(job.name, job.attempts);
  }
  const Hosts found = hosts(*table.snapshot(), all_days());
  ASSERT_FALSE(found.hosts.empty());
  EXPECT_EQ(found.hosts[0].host, "host-00100");
  EXPECT_TRUE(found.hosts[0].lemon);
  EXPECT_LT(found.hosts[0].q_value, 1e-6);
  EXPECT_LE(std::ranges::count_if(found.hosts, &HostRow::lemon), 2);
}

TEST(Hosts, OfNothing) {
  FleetTable table;
  EXPECT_FALSE(hosts(*table.snapshot(), all_days()).failures_per_1000_device_hours);
}

}  // namespace
}  // namespace headway::fleet
