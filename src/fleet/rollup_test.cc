#include "fleet/rollup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "fleet/poisson.h"
#include "fleet/test_facts.h"
#include "fleet/trend.h"

namespace headway::fleet {
namespace {

using timeline::Bucket;
using timeline::index;
using timeline::kBuckets;

constexpr std::array<Dimension, kDimensions> kAll = {
    Dimension::family,   Dimension::team,     Dimension::cluster,
    Dimension::hardware, Dimension::size,     Dimension::torch,
    Dimension::priority, Dimension::revision, Dimension::config};

const RollupGroup& group(const Rollup& rollup, std::string_view key) {
  const auto found = std::ranges::find_if(
      rollup.groups, [&](const RollupGroup& each) { return each.key.at(0) == key; });
  EXPECT_NE(found, rollup.groups.end()) << key;
  return *found;
}

TEST(Rollup, ByHand) {
  FleetTable table;
  // 8 devices for an hour, half of it effective; 1 device for two hours, three quarters effective.
  AttemptFacts big = facts_by_hand(1, "dlrm", 8, kHourNs / 2, kHourNs / 4, kHourNs / 4);
  big.slices[0].saves = 3;
  big.slices[0].queued_ns = 7;
  big.start = start_by_hand(kDay * kDayNs, 90 * kSecondNs);
  big.ending = Ending::failed;
  FailureFact failure;
  failure.t_ns = kDay * kDayNs + kHourNs;
  failure.origin = Origin::infra;
  failure.unsaved_ns = kHourNs / 8;
  big.failure = failure;
  table.upsert("big", big);
  AttemptFacts small = facts_by_hand(1, "bert", 1, 3 * kHourNs / 2, kHourNs / 2, 0);
  small.slices[0].sums[Bucket::wasted_checkpoint_blocked] = kHourNs;
  small.start = start_by_hand(kDay * kDayNs + 5, 30 * kSecondNs);
  small.ending = Ending::running;
  table.upsert("small", small);
  failure.origin = Origin::user;
  small.failure = failure;
  small.ending = Ending::failed;
  table.upsert("erring", small);

  const auto snapshot = table.snapshot();
  const Rollup rollup = roll_up(*snapshot, all_days(), {{Dimension::family}, false});
  ASSERT_EQ(rollup.groups.size(), 2u);
  EXPECT_EQ(rollup.groups[0].key, std::vector<std::string>{"dlrm"});  // most device-hours
  const RollupGroup& dlrm = group(rollup, "dlrm");
  EXPECT_EQ(dlrm.jobs, 1u);
  EXPECT_EQ(dlrm.attempts, 1u);
  EXPECT_EQ(dlrm.running, 0u);
  EXPECT_DOUBLE_EQ(dlrm.device_hours, 8);
  EXPECT_EQ(dlrm.wall_ns, kHourNs);
  EXPECT_EQ(dlrm.queued_ns, 7);
  EXPECT_EQ(dlrm.saves, 3u);
  EXPECT_DOUBLE_EQ(*dlrm.ett_pct.value, 50);
  EXPECT_DOUBLE_EQ(*dlrm.idleness_pct.value, 25);
  EXPECT_DOUBLE_EQ(*dlrm.failure_pct.value, 25);
  EXPECT_FALSE(dlrm.ett_pct.low);  // one job says nothing of others
  EXPECT_EQ(dlrm.failures, 1u);
  EXPECT_DOUBLE_EQ(*dlrm.failures_per_1000_device_hours.value, 125);
  EXPECT_NEAR(*dlrm.failures_per_1000_device_hours.high, garwood(1).high * 125, 1e-6);
  EXPECT_DOUBLE_EQ(dlrm.unsaved_device_hours, 1);
  EXPECT_DOUBLE_EQ(dlrm.buckets[index(Bucket::effective)], 4);
  EXPECT_DOUBLE_EQ(dlrm.buckets[index(Bucket::compile_cold)], 2);
  EXPECT_EQ(dlrm.time_to_start->count, 1u);
  EXPECT_DOUBLE_EQ(*dlrm.time_to_start->p50_s, 90);
  EXPECT_FALSE(dlrm.time_to_recover);
  const RollupGroup& bert = group(rollup, "bert");
  EXPECT_EQ(bert.jobs, 2u);
  EXPECT_EQ(bert.running, 1u);
  EXPECT_EQ(bert.failures, 0u);
  EXPECT_EQ(bert.user_errors, 1u);
  EXPECT_NEAR(*bert.checkpoint_blocked_pct, 100.0 / 3, 1e-9);
  EXPECT_DOUBLE_EQ(*bert.ett_pct.low, 50);  // two that are the same
  const RollupGroup& total = rollup.total;
  EXPECT_EQ(total.jobs, 3u);
  EXPECT_DOUBLE_EQ(total.device_hours, 14);
  EXPECT_DOUBLE_EQ(*total.ett_pct.value, 50);
  EXPECT_DOUBLE_EQ(*total.time_to_start->mean_s.value, 50);

  Selection by_job = all_days();
  by_job.weight = Weight::job;
  const RollupGroup each = roll_up(*snapshot, by_job, {}).total;
  EXPECT_NEAR(*each.failure_pct.value, 25.0 / 3, 1e-9);
  EXPECT_NEAR(each.buckets[index(Bucket::down)], 25.0 / 3, 1e-9);
  EXPECT_NEAR(*each.checkpoint_blocked_pct, 200.0 / 9, 1e-9);
  EXPECT_DOUBLE_EQ(each.device_hours, 14);
  EXPECT_EQ(each.device_ns, total.device_ns);
}

// Every sum of a grouping's groups is that of the whole.
void expect_adds_up(const Rollup& rollup, bool whole_attempts) {
  RollupGroup sum;
  for (const RollupGroup& each : rollup.groups) {
    for (std::size_t b = 0; b < kBuckets; ++b) sum.device_ns[b] += each.device_ns[b];
    sum.wall_ns += each.wall_ns;
    sum.queued_ns += each.queued_ns;
    sum.saves += each.saves;
    sum.failures += each.failures;
    sum.user_errors += each.user_errors;
    sum.preemptions += each.preemptions;
    sum.attempts += each.attempts;
    sum.unsaved_device_hours += each.unsaved_device_hours;
    sum.cache.add(each.cache);
    sum.jobs += each.time_to_start ? each.time_to_start->count + each.time_to_start->open : 0;
  }
  const RollupGroup& total = rollup.total;
  EXPECT_EQ(sum.device_ns, total.device_ns);
  EXPECT_TRUE(sum.wall_ns == total.wall_ns);
  EXPECT_TRUE(sum.queued_ns == total.queued_ns);
  EXPECT_EQ(sum.saves, total.saves);
  EXPECT_EQ(sum.failures, total.failures);
  EXPECT_EQ(sum.user_errors, total.user_errors);
  EXPECT_EQ(sum.preemptions, total.preemptions);
  EXPECT_EQ(sum.jobs, total.time_to_start->count + total.time_to_start->open);
  EXPECT_NEAR(sum.unsaved_device_hours, total.unsaved_device_hours, 1e-6);
  EXPECT_GT(total.cache.hits, 0u);
  EXPECT_EQ(sum.cache, total.cache);  // an attempt is on one day alone
  if (whole_attempts) {
    EXPECT_EQ(sum.attempts, total.attempts);
  }
}

// An attempt of four devices that began on `day`.
AttemptFacts compiling(std::int32_t day, std::optional<CacheFact> cache) {
  AttemptFacts facts = facts_by_hand(1, "dlrm", 4, kHourNs, kSecondNs, 0, day);
  facts.cache = cache;
  return facts;
}

TEST(Rollup, WhatCachesWereWorthByHand) {
  FleetTable table;
  table.upsert("warm", compiling(kDay, CacheFact{.asked = true,
                                                 .unpacked = true,
                                                 .hits = 9,
                                                 .misses = 1,
                                                 .bypasses = 10,
                                                 .original_ns = 100 * kSecondNs,
                                                 .spent_ns = 10 * kSecondNs}));
  // What was found took longer to find than to compile: that is no less true.
  table.upsert("slow", compiling(kDay + 1, CacheFact{.asked = true,
                                                     .hits = 5,
                                                     .misses = 5,
                                                     .original_ns = kSecondNs,
                                                     .spent_ns = 3 * kSecondNs}));
  table.upsert("silent", compiling(kDay, std::nullopt));
  AttemptFacts eager = facts_by_hand(1, "eager", 4, kHourNs, 0, 0);
  eager.cache = CacheFact{.asked = true, .unpacked = true};  // it compiled nothing
  table.upsert("eager", eager);

  const auto snapshot = table.snapshot();
  const Rollup all = roll_up(*snapshot, all_days(), {{Dimension::family}, false});
  const CacheSum& sum = all.total.cache;
  EXPECT_EQ(sum.attempts, 3u);
  EXPECT_EQ(sum.asked, 2u);
  EXPECT_EQ(sum.unpacked, 1u);
  EXPECT_EQ(sum.told, 2u);
  EXPECT_NEAR(*sum.unpacked_pct(), 100.0 / 3, 1e-9);
  EXPECT_DOUBLE_EQ(*sum.hit_pct(), 70);
  EXPECT_NEAR(*sum.coverage_pct(), 100.0 * 20 / 30, 1e-9);
  EXPECT_TRUE(sum.saved_ns() == base::Int128{88} * kSecondNs);
  EXPECT_TRUE(sum.saved_device_ns == base::Int128{4 * 88} * kSecondNs);
  EXPECT_EQ(group(all, "eager").cache, CacheSum());

  Selection second = all_days();
  second.from_day = kDay + 1;
  const CacheSum later = roll_up(*snapshot, second, {}).total.cache;
  EXPECT_EQ(later.attempts, 1u);
  EXPECT_TRUE(later.saved_ns() == base::Int128{-2} * kSecondNs);
  EXPECT_FALSE(CacheSum().saved_ns() || CacheSum().hit_pct() || CacheSum().unpacked_pct());
}

TEST(Rollup, AnyGroupingAddsUp) {
  constexpr std::uint64_t seed = 21;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const std::vector<MadeJob> jobs = made_jobs(seed, 1200);
  const auto snapshot = snapshot_of(jobs);
  timeline::Sums wall;
  std::array<base::Int128, kBuckets> device_ns{};
  for (const MadeJob& job : jobs) {
    for (const AttemptFacts& facts : job.attempts) {
      for (const Slice& slice : facts.slices) {
        for (std::size_t b = 0; b < kBuckets; ++b) {
          device_ns[b] += base::Int128{slice.sums.ns[b]} * facts.devices;
        }
      }
    }
  }
  const Rollup none = roll_up(*snapshot, all_days(), {});
  EXPECT_EQ(none.total.device_ns, device_ns);
  EXPECT_TRUE(none.groups.empty());
  for (const Dimension first : kAll) {
    const Rollup one = roll_up(*snapshot, all_days(), {{first}, false});
    EXPECT_EQ(one.more, 0u);
    expect_adds_up(one, true);
    EXPECT_EQ(one.total.device_ns, device_ns);
  }
  expect_adds_up(roll_up(*snapshot, all_days(), {{Dimension::family, Dimension::team}, false}),
                 true);
  expect_adds_up(roll_up(*snapshot, all_days(), {{Dimension::torch, Dimension::size}, false}),
                 true);
  const Rollup days = roll_up(*snapshot, all_days(), {{}, true});
  expect_adds_up(days, false);
  EXPECT_EQ(days.total.attempts, none.total.attempts);
  EXPECT_EQ(days.total.jobs, 1200u);
  EXPECT_TRUE(std::ranges::is_sorted(days.groups, {}, &RollupGroup::key));
}

void expect_same(const RollupGroup& a, const RollupGroup& b) {
  EXPECT_EQ(a.device_ns, b.device_ns);
  EXPECT_EQ(a.buckets, b.buckets);
  EXPECT_EQ(a.jobs, b.jobs);
  EXPECT_EQ(a.attempts, b.attempts);
  EXPECT_EQ(a.running, b.running);
  EXPECT_EQ(a.failures, b.failures);
  EXPECT_EQ(a.cache, b.cache);
  EXPECT_EQ(a.ett_pct.value, b.ett_pct.value);
  EXPECT_EQ(a.ett_pct.low, b.ett_pct.low);
  ASSERT_EQ(a.time_to_start.has_value(), b.time_to_start.has_value());
  if (a.time_to_start) {
    EXPECT_EQ(a.time_to_start->open, b.time_to_start->open);
    EXPECT_EQ(a.time_to_start->p50_s, b.time_to_start->p50_s);
    EXPECT_EQ(a.time_to_start->mean_s.high, b.time_to_start->mean_s.high);
  }
}

// A value's days are those of a fleet that has nothing else.
TEST(Rollup, DaysOfADimensionAreTheDaysOfEachOfItsValues) {
  constexpr std::uint64_t seed = 25;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const auto snapshot = snapshot_of(made_jobs(seed, 900));
  Selection selection = all_days();
  for (const Weight weight : {Weight::device, Weight::job}) {
    selection.weight = weight;
    selection.where.clear();
    const Rollup both = roll_up(*snapshot, selection, {{Dimension::cluster}, true});
    EXPECT_EQ(both.more, 0u);
    expect_adds_up(both, false);
    const Rollup clusters = roll_up(*snapshot, selection, {{Dimension::cluster}, false});
    std::size_t at = 0;
    for (const RollupGroup& cluster : clusters.groups) {  // in the same order
      selection.where = {{Dimension::cluster, cluster.key[0]}};
      for (const RollupGroup& day : roll_up(*snapshot, selection, {{}, true}).groups) {
        ASSERT_LT(at, both.groups.size());
        EXPECT_EQ(both.groups[at].key, (std::vector<std::string>{cluster.key[0], day.key[0]}));
        expect_same(both.groups[at], day);
        ++at;
      }
    }
    EXPECT_EQ(at, both.groups.size());
  }
}

TEST(Rollup, MoreDaysOfADimensionThanShown) {
  constexpr std::int32_t days = 90;
  const auto snapshot = snapshot_of(made_jobs(26, 900));
  Selection selection;
  selection.from_day = kDay;
  selection.to_day = kDay + days;
  const Rollup families = roll_up(*snapshot, selection, {{Dimension::family}, false});
  const std::size_t room = rollup_groups_max / days;
  ASSERT_GT(families.groups.size(), room);
  const Rollup both = roll_up(*snapshot, selection, {{Dimension::family}, true});
  EXPECT_EQ(both.more, families.groups.size() - room);
  EXPECT_LE(both.groups.size(), rollup_groups_max);
  EXPECT_EQ(both.total.device_ns, families.total.device_ns);
  std::vector<std::string> shown, largest;
  for (const RollupGroup& each : both.groups) {
    if (shown.empty() || shown.back() != each.key[0]) shown.push_back(each.key[0]);
  }
  for (std::size_t i = 0; i < room; ++i) largest.push_back(families.groups[i].key[0]);
  EXPECT_EQ(shown, largest);
  // Two dimensions have more values than there is room for.
  const Rollup three =
      roll_up(*snapshot, selection, {{Dimension::revision, Dimension::config}, true});
  EXPECT_LE(three.groups.size(), rollup_groups_max);
  EXPECT_GT(three.more, 0u);
  ASSERT_FALSE(three.groups.empty());
  EXPECT_EQ(three.groups[0].key.size(), 3u);
  EXPECT_EQ(three.total.device_ns, families.total.device_ns);
}

TEST(Rollup, DaysTelescope) {
  const auto snapshot = snapshot_of(made_jobs(22, 600));
  const Rollup all = roll_up(*snapshot, all_days(), {});
  Rollup pieces;
  for (const auto& [from, to] : {std::pair{0, kDay + 13}, std::pair{kDay + 13, kDay + 14},
                                 std::pair{kDay + 14, kDay + 60}, std::pair{kDay + 60, 100'000}}) {
    Selection part;
    part.from_day = from;
    part.to_day = to;
    pieces.groups.push_back(roll_up(*snapshot, part, {}).total);
  }
  pieces.total = all.total;
  expect_adds_up(pieces, false);
}

TEST(Rollup, WhereIsOrWithinADimensionAndAndBetween) {
  const auto snapshot = snapshot_of(made_jobs(23, 600));
  const Rollup both =
      roll_up(*snapshot, all_days(), {{Dimension::cluster, Dimension::torch}, false});
  Selection some = all_days();
  some.where = {{Dimension::cluster, "cluster-1"},
                {Dimension::cluster, "cluster-3"},
                {Dimension::torch, "2.13"}};
  base::Int128 expected = 0;
  for (const RollupGroup& each : both.groups) {
    if ((each.key[0] == "cluster-1" || each.key[0] == "cluster-3") && each.key[1] == "2.13") {
      expected += each.wall_ns;
    }
  }
  EXPECT_GT(expected, 0);
  EXPECT_TRUE(roll_up(*snapshot, some, {}).total.wall_ns == expected);
  some.where = {{Dimension::cluster, "no such"}};
  EXPECT_TRUE(roll_up(*snapshot, some, {}).total.wall_ns == 0);
  EXPECT_FALSE(roll_up(*snapshot, some, {}).total.ett_pct.value);
}

TEST(Rollup, TheOrderOfArrivalDoesNotShow) {
  std::vector<MadeJob> jobs = made_jobs(24, 500);
  const auto first = snapshot_of(jobs);
  std::mt19937_64 random(1);
  std::ranges::shuffle(jobs, random);
  for (MadeJob& job : jobs) std::ranges::shuffle(job.attempts, random);
  const auto second = snapshot_of(jobs);
  const By by{{Dimension::family, Dimension::priority}, false};
  const Rollup a = roll_up(*first, all_days(), by), b = roll_up(*second, all_days(), by);
  ASSERT_EQ(a.groups.size(), b.groups.size());
  for (std::size_t i = 0; i < a.groups.size(); ++i) {
    EXPECT_EQ(a.groups[i].key, b.groups[i].key);
    EXPECT_EQ(a.groups[i].device_ns, b.groups[i].device_ns);
    EXPECT_EQ(a.groups[i].ett_pct.value, b.groups[i].ett_pct.value);
    EXPECT_EQ(a.groups[i].failures, b.groups[i].failures);
    EXPECT_EQ(a.groups[i].time_to_start.has_value(), b.groups[i].time_to_start.has_value());
    if (a.groups[i].time_to_start) {
      EXPECT_EQ(a.groups[i].time_to_start->p90_s, b.groups[i].time_to_start->p90_s);
    }
    if (a.groups[i].ett_pct.low) {
      EXPECT_NEAR(*a.groups[i].ett_pct.low, *b.groups[i].ett_pct.low, 1e-8);
    }
  }
}

TEST(Rollup, MoreGroupsThanShown) {
  FleetTable table;
  for (int i = 0; i < 1500; ++i) {
    table.upsert("job-" + std::to_string(i),
                 facts_by_hand(1, "family-" + std::to_string(i), 1, kSecondNs * (i + 1), 0, 0));
  }
  const Rollup rollup = roll_up(*table.snapshot(), all_days(), {{Dimension::family}, false});
  EXPECT_EQ(rollup.groups.size(), rollup_groups_max);
  EXPECT_EQ(rollup.more, 500u);
  EXPECT_EQ(rollup.groups[0].key[0], "family-1499");
  EXPECT_EQ(rollup.total.jobs, 1500u);
}

TEST(Rollup, StartsUnderWayCount) {
  FleetTable table;
  // One start took a minute. Another job has been starting for an hour, over a crash.
  AttemptFacts quick = facts_by_hand(1, "a", 1, kHourNs, 0, 0);
  quick.start = start_by_hand(kDay * kDayNs, 60 * kSecondNs);
  table.upsert("quick", quick);
  AttemptFacts crashed = facts_by_hand(1, "a", 1, 0, kHourNs / 2, 0);
  crashed.ending = Ending::failed;
  crashed.slices[0].sums[Bucket::scheduling] = 10 * kSecondNs;
  crashed.begin_ns = kDay * kDayNs;
  crashed.end_ns = crashed.begin_ns + kHourNs / 2;
  table.upsert("slow", crashed);
  AttemptFacts again = facts_by_hand(2, "a", 1, 0, kHourNs / 2, 0);
  again.ending = Ending::running;
  again.begin_ns = crashed.end_ns;
  again.end_ns = crashed.begin_ns + kHourNs + 10 * kSecondNs;
  table.upsert("slow", again);
  const Durations starts = *roll_up(*table.snapshot(), all_days(), {}).total.time_to_start;
  EXPECT_EQ(starts.count, 1u);
  EXPECT_EQ(starts.open, 1u);
  EXPECT_DOUBLE_EQ(*starts.p50_s, 60);
  EXPECT_FALSE(starts.p90_s);
  EXPECT_DOUBLE_EQ(*starts.mean_s.value, (60 + 3600) / 2.0);
  // It trains at last: now it is known.
  again.start = start_by_hand(crashed.begin_ns + 10 * kSecondNs, kHourNs);
  table.upsert("slow", again);
  const Durations over = *roll_up(*table.snapshot(), all_days(), {}).total.time_to_start;
  EXPECT_EQ(over.count, 2u);
  EXPECT_DOUBLE_EQ(*over.p90_s, 3600);
}

TEST(Rollup, RecoveriesUnderWayCount) {
  FleetTable table;
  AttemptFacts first = facts_by_hand(1, "a", 1, kHourNs, 0, 0);
  first.start = start_by_hand(first.begin_ns, kSecondNs);
  first.ending = Ending::failed;
  FailureFact failure;
  failure.t_ns = first.end_ns;
  failure.origin = Origin::infra;
  first.failure = failure;
  table.upsert("job", first);
  // Nobody has come back: nothing is known of a recovery.
  EXPECT_FALSE(roll_up(*table.snapshot(), all_days(), {}).total.time_to_recover);
  AttemptFacts second = facts_by_hand(2, "a", 1, 0, 0, 600 * kSecondNs);
  second.begin_ns = first.end_ns;
  second.end_ns = second.begin_ns + 600 * kSecondNs;
  second.ending = Ending::running;
  table.upsert("job", second);
  const Durations open = *roll_up(*table.snapshot(), all_days(), {}).total.time_to_recover;
  EXPECT_EQ(open.count, 0u);
  EXPECT_EQ(open.open, 1u);
}

// Whole fleets are drawn again and again from one kind; the interval of the roll-up has to hold the
// share of a fleet that is so large that its own does not matter.
TEST(Rollup, IntervalsHoldTheTruth) {
  constexpr std::uint64_t seed = 900;
  const RollupGroup truth = roll_up(*snapshot_of(made_jobs(seed, 30'000)), all_days(), {}).total;
  constexpr int rounds = 200;
  std::array<int, 4> held{};
  for (int round = 1; round <= rounds; ++round) {
    const auto snapshot = snapshot_of(made_jobs(seed + static_cast<std::uint64_t>(round), 120));
    const RollupGroup total = roll_up(*snapshot, all_days(), {}).total;
    const auto holds = [](const Doubt& doubt, const Doubt& true_value) {
      return *doubt.low <= *true_value.value && *true_value.value <= *doubt.high ? 1 : 0;
    };
    held[0] += holds(total.ett_pct, truth.ett_pct);
    held[1] += holds(total.failure_pct, truth.failure_pct);
    held[2] += holds(total.idleness_pct, truth.idleness_pct);
    held[3] += holds(total.time_to_start->mean_s, truth.time_to_start->mean_s);
  }
  std::printf("seed %lu: of %d held ett %d, failure %d, idleness %d, time to start %d\n", seed,
              rounds, held[0], held[1], held[2], held[3]);
  for (const int each : held) {
    EXPECT_GE(each, rounds * 90 / 100);
    EXPECT_LT(each, rounds);
  }
}

TEST(Trend, IsTheRollupOfEachDay) {
  const auto snapshot = snapshot_of(made_jobs(31, 700));
  for (const Weight weight : {Weight::device, Weight::job}) {
    Selection selection = all_days();
    selection.weight = weight;
    const Rollup days = roll_up(*snapshot, selection, {{}, true});
    const auto check = [&](std::string_view name, auto&& of) {
      const Trend found = trend(*snapshot, selection, *parse_metric(name), {});
      ASSERT_EQ(found.series.size(), 1u);
      std::size_t row = 0;
      for (std::size_t i = 0; i < found.series[0].value.size(); ++i) {
        if (row == days.groups.size()) break;
        if (days.groups[row].key[0] != day_text(found.from_day + static_cast<std::int32_t>(i))) {
          continue;
        }
        const Doubt doubt = of(days.groups[row]);
        ASSERT_EQ(found.series[0].value[i].has_value(), doubt.value.has_value()) << name;
        if (doubt.value) {
          EXPECT_NEAR(*found.series[0].value[i], *doubt.value, 1e-9) << name << " " << i;
        }
        if (doubt.low) {
          EXPECT_NEAR(*found.series[0].low[i], *doubt.low, 1e-6) << name << " " << i;
        }
        EXPECT_NEAR(found.series[0].device_hours[i], days.groups[row].device_hours, 1e-6);
        ++row;
      }
      EXPECT_EQ(row, days.groups.size());
    };
    check("ett_pct", [](const RollupGroup& g) { return g.ett_pct; });
    check("idleness_pct", [](const RollupGroup& g) { return g.idleness_pct; });
    check("failure_pct", [](const RollupGroup& g) { return g.failure_pct; });
    check("failures_per_1000_device_hours",
          [](const RollupGroup& g) { return g.failures_per_1000_device_hours; });
    check("time_to_start_s",
          [](const RollupGroup& g) { return g.time_to_start ? g.time_to_start->mean_s : Doubt{}; });
    check("time_to_recover_s", [](const RollupGroup& g) {
      return g.time_to_recover ? g.time_to_recover->mean_s : Doubt{};
    });
    check("checkpoint_blocked_pct", [](const RollupGroup& g) {
      return Doubt{g.checkpoint_blocked_pct, std::nullopt, std::nullopt};
    });
    check("bucket:data_wait", [&](const RollupGroup& g) {
      const double hours = g.buckets[index(Bucket::wasted_data_wait)];
      return Doubt{weight == Weight::job ? hours : 100 * hours / g.device_hours, std::nullopt,
                   std::nullopt};
    });
  }
}

TEST(Trend, TwelveSeriesAndTheRest) {
  const auto snapshot = snapshot_of(made_jobs(32, 700));
  const Trend found = trend(*snapshot, all_days(), {}, {Dimension::family});
  ASSERT_EQ(found.series.size(), trend_series_max + 1);
  EXPECT_EQ(found.series.back().key, std::vector<std::string>{"other"});
  const Trend whole = trend(*snapshot, all_days(), {}, {});
  for (std::size_t day = 0; day < whole.series[0].value.size(); ++day) {
    double sum = 0;
    for (const TrendSeries& each : found.series) sum += each.device_hours[day];
    EXPECT_NEAR(sum, whole.series[0].device_hours[day], 1e-6);
  }
}

TEST(Trend, NothingToShow) {
  FleetTable table;
  EXPECT_TRUE(trend(*table.snapshot(), all_days(), {}, {}).series.empty());
  EXPECT_TRUE(roll_up(*table.snapshot(), all_days(), {{}, true}).groups.empty());
  EXPECT_TRUE(roll_up(*table.snapshot(), all_days(), {{Dimension::team}, true}).groups.empty());
}

TEST(Trend, NamesOfMetrics) {
  for (const char* name : {"ett_pct", "unsaved_pct", "time_to_recover_s", "bucket:compile_cold"}) {
    EXPECT_EQ(metric_name(*parse_metric(name)), name);
  }
  EXPECT_FALSE(parse_metric("bucket:cold"));
  EXPECT_FALSE(parse_metric(""));
  EXPECT_EQ(metric_unit(*parse_metric("bucket:down")), "%");
  EXPECT_EQ(metric_unit(*parse_metric("time_to_start_s")), "s");
}

TEST(Selection, DaysAsText) {
  EXPECT_EQ(day_text(0), "1970-01-01");
  EXPECT_EQ(day_text(20'700), "2026-09-04");
  EXPECT_EQ(parse_day("2026-09-04"), 20'700);
  EXPECT_EQ(parse_day("2024-02-29"), 19'782);
  for (const char* bad :
       {"2026-9-4", "2026-02-30", "2026-13-01", "x026-01-01", "", "2026-01-01 "}) {
    EXPECT_FALSE(parse_day(bad)) << bad;
  }
}

}  // namespace
}  // namespace headway::fleet
