#include "fleet/losses.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fleet/catalogue.h"
#include "fleet/failures.h"
#include "fleet/rollup.h"
#include "fleet/test_facts.h"

namespace headway::fleet {
namespace {

using timeline::Bucket;

TEST(Losses, ByHand) {
  FleetTable table;
  for (int i = 1; i <= 7; ++i) {  // i hours of compiling each, one of them also down
    table.upsert("job-" + std::to_string(i),
                 facts_by_hand(1, "a", 2, kHourNs, i * kHourNs, i == 3 ? 20 * kHourNs : 0));
  }
  const Losses found = losses(*table.snapshot(), all_days());
  EXPECT_DOUBLE_EQ(found.device_hours, 2 * (7 + 28 + 20));
  EXPECT_DOUBLE_EQ(*found.ett_pct, 100 * 7.0 / 55);
  ASSERT_EQ(found.losses.size(), 2u);
  EXPECT_EQ(found.losses[0].bucket, Bucket::compile_cold);
  EXPECT_DOUBLE_EQ(found.losses[0].device_hours, 56);
  EXPECT_DOUBLE_EQ(found.losses[0].share_pct, 100 * 28.0 / 55);
  EXPECT_EQ(found.losses[0].attempts, 7u);
  ASSERT_EQ(found.losses[0].worst.size(), Loss::worst_max);
  EXPECT_EQ(found.losses[0].worst[0].job, "job-7");
  EXPECT_DOUBLE_EQ(found.losses[0].worst[0].device_hours, 14);
  EXPECT_EQ(found.losses[0].worst[4].job, "job-3");
  EXPECT_EQ(found.losses[1].bucket, Bucket::down);
  EXPECT_EQ(found.losses[1].attempts, 1u);
}

TEST(Losses, AreTheRollupsBuckets) {
  const auto snapshot = snapshot_of(made_jobs(41, 400));
  for (const Weight weight : {Weight::device, Weight::job}) {
    Selection selection = all_days();
    selection.from_day = kDay + 10;
    selection.to_day = kDay + 50;
    selection.weight = weight;
    const Losses found = losses(*snapshot, selection);
    const RollupGroup total = roll_up(*snapshot, selection, {}).total;
    EXPECT_NEAR(*found.ett_pct, *total.ett_pct.value, 1e-9);
    EXPECT_NEAR(found.device_hours, total.device_hours, 1e-6);
    double sum = *found.ett_pct;
    for (const Loss& loss : found.losses) {
      sum += loss.share_pct;
      const double whole = weight == Weight::device ? total.device_hours : 100;
      EXPECT_NEAR(loss.share_pct, 100 * total.buckets[timeline::index(loss.bucket)] / whole, 1e-9);
    }
    EXPECT_NEAR(sum, 100, 1e-9);
    EXPECT_TRUE(std::ranges::is_sorted(found.losses, std::greater(), &Loss::share_pct));
  }
}

TEST(Losses, OfNothing) {
  FleetTable table;
  EXPECT_FALSE(losses(*table.snapshot(), all_days()).ett_pct);
}

AttemptFacts failed(std::int64_t attempt, const std::string& category, Origin origin,
                    std::int64_t at_s, std::optional<std::int64_t> recovered_s) {
  AttemptFacts facts = facts_by_hand(attempt, "a", 4, kHourNs, 0, 0);
  facts.ending = Ending::failed;
  facts.begin_ns = kDay * kDayNs;
  facts.end_ns = kDay * kDayNs + at_s * kSecondNs;
  FailureFact failure;
  failure.t_ns = facts.end_ns;
  failure.category = category;
  failure.origin = origin;
  failure.lost_ns = kHourNs / 2;
  failure.unsaved_ns = kHourNs / 4;
  if (recovered_s) failure.time_to_recover_ns = *recovered_s * kSecondNs;
  facts.failure = failure;
  return facts;
}

TEST(Failures, ByHand) {
  FleetTable table;
  table.upsert("one", failed(1, "xid", Origin::infra, 100, 60));
  table.upsert("one", failed(2, "xid", Origin::infra, 200, 30));
  table.upsert("one", failed(3, "xid", Origin::infra, 300, std::nullopt));
  AttemptFacts again = facts_by_hand(4, "a", 4, 0, kHourNs, 0);
  again.ending = Ending::running;
  again.end_ns = kDay * kDayNs + 1300 * kSecondNs;
  table.upsert("one", again);
  table.upsert("two", failed(1, "xid", Origin::infra, 250, std::nullopt));  // and never again
  table.upsert("two", failed(0, "bug", Origin::user, 50, 5));
  const Failures found = failures(*table.snapshot(), all_days());
  EXPECT_DOUBLE_EQ(found.device_hours_lost, 5 * 4 * 0.5);
  ASSERT_EQ(found.categories.size(), 2u);
  const FailureCategory& xid = found.categories[0];
  EXPECT_EQ(xid.category, "xid");
  EXPECT_EQ(xid.origin, Origin::infra);
  EXPECT_EQ(xid.count, 4u);
  EXPECT_EQ(xid.jobs, 2u);
  EXPECT_DOUBLE_EQ(xid.device_hours_lost, 8);
  EXPECT_DOUBLE_EQ(xid.unsaved_device_hours, 4);
  EXPECT_EQ(xid.time_to_recover->count, 2u);
  EXPECT_EQ(xid.time_to_recover->open, 1u);  // 1000 s and more
  EXPECT_DOUBLE_EQ(*xid.time_to_recover->p50_s, 60);
  EXPECT_DOUBLE_EQ(*xid.time_to_recover->mean_s.value, (30 + 60 + 1000) / 3.0);
  EXPECT_EQ(xid.last_job, "one");
  EXPECT_EQ(xid.last_attempt, 3);
  EXPECT_EQ(xid.last_ns, kDay * kDayNs + 300 * kSecondNs);
  EXPECT_EQ(found.categories[1].category, "bug");
  EXPECT_EQ(found.categories[1].origin, Origin::user);
}

TEST(Failures, AreAsManyAsTheRollupHas) {
  const auto snapshot = snapshot_of(made_jobs(42, 800));
  Selection selection = all_days();
  selection.from_day = kDay + 20;
  selection.where = {{Dimension::hardware, "h100"}};
  const Failures found = failures(*snapshot, selection);
  const RollupGroup total = roll_up(*snapshot, selection, {}).total;
  std::uint64_t count = 0;
  double unsaved = 0;
  for (const FailureCategory& each : found.categories) {
    count += each.count;
    unsaved += each.unsaved_device_hours;
  }
  EXPECT_GT(count, 100u);
  EXPECT_EQ(count, total.failures + total.user_errors + total.preemptions);
  EXPECT_NEAR(unsaved, total.unsaved_device_hours, 1e-6);
}

TEST(Catalogue, SaysWhatThereIs) {
  const std::vector<MadeJob> jobs = made_jobs(43, 2000);
  const auto snapshot = snapshot_of(jobs);
  const Catalogue found = catalogue(*snapshot);
  EXPECT_EQ(found.jobs, 2000u);
  EXPECT_EQ(found.attempts, snapshot->attempts());
  EXPECT_EQ(found.first_day, kDay);
  EXPECT_EQ(found.last_day, kDay + 89);
  const auto& hardware = found.dimensions[static_cast<std::size_t>(Dimension::hardware)];
  ASSERT_EQ(hardware.values.size(), 2u);
  EXPECT_EQ(hardware.values[0].attempts + hardware.values[1].attempts, found.attempts);
  EXPECT_GE(hardware.values[0].device_hours, hardware.values[1].device_hours);
  const auto& config = found.dimensions[static_cast<std::size_t>(Dimension::config)];
  EXPECT_EQ(config.values.size(), Catalogue::values_max);
  EXPECT_GT(config.more, 0u);
  std::uint64_t with = 0;
  for (const MadeJob& job : jobs) {
    for (const AttemptFacts& facts : job.attempts) {
      with += std::ranges::count(facts.levers, "compile_cache");
    }
  }
  const auto lever = std::ranges::find(found.levers, "compile_cache", &Catalogue::Lever::name);
  ASSERT_NE(lever, found.levers.end());
  EXPECT_EQ(lever->attempts, with);
  FleetTable empty;
  EXPECT_FALSE(catalogue(*empty.snapshot()).first_day);
}

}  // namespace
}  // namespace headway::fleet
