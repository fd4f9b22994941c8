#include "fleet/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <thread>

#include "fleet/rollup.h"
#include "fleet/test_facts.h"

namespace headway::fleet {
namespace {

using timeline::Bucket;
using Rows = std::map<std::pair<std::string, std::int64_t>, EncodedAttempt>;

// All rows by job and attempt.
Rows rows_of(const Snapshot& snapshot) {
  Rows rows;
  for (const auto& chunk : snapshot.chunks()) {
    for (const Chunk::Job& job : chunk->jobs) {
      if (!job.live) continue;
      for (std::uint32_t at = job.first; at < job.first + job.count; ++at) {
        EncodedAttempt row;
        chunk->read(at, row);
        const bool fresh =
            rows.emplace(std::pair(std::string(snapshot.jobs()[job.id]), row.attempt), row).second;
        EXPECT_TRUE(fresh) << "an attempt is there twice";
      }
    }
  }
  return rows;
}

// That a row says what the facts said.
void expect_same(const Snapshot& snapshot, const EncodedAttempt& row, const AttemptFacts& facts) {
  for (std::size_t i = 0; i < kDimensions; ++i) {
    EXPECT_EQ(snapshot.values(static_cast<Dimension>(i))[row.dimensions[i]], facts.dimensions[i]);
  }
  EXPECT_EQ(row.devices, facts.devices);
  EXPECT_EQ(row.begin_ns, facts.begin_ns);
  EXPECT_EQ(row.end_ns, facts.end_ns);
  EXPECT_EQ(row.ending, facts.ending);
  std::vector<std::string> levers, hosts;
  for (std::uint32_t i = 0; i < snapshot.levers().size(); ++i) {
    if ((row.levers >> i & 1) != 0) levers.emplace_back(snapshot.levers()[i]);
  }
  std::ranges::sort(levers);
  EXPECT_EQ(levers, facts.levers);
  for (const std::uint32_t host : row.hosts) hosts.emplace_back(snapshot.hosts()[host]);
  EXPECT_EQ(hosts, facts.hosts);
  ASSERT_EQ(row.slices.size(), facts.slices.size());
  for (std::size_t i = 0; i < row.slices.size(); ++i) {
    EXPECT_EQ(row.slices[i].day, facts.slices[i].day);
    EXPECT_EQ(row.slices[i].sums, facts.slices[i].sums);
    EXPECT_EQ(row.slices[i].failure_ns, facts.slices[i].failure_ns);
    EXPECT_EQ(row.slices[i].queued_ns, facts.slices[i].queued_ns);
    EXPECT_EQ(row.slices[i].saves, facts.slices[i].saves);
  }
  ASSERT_EQ(row.has_start, facts.start.has_value());
  if (row.has_start) {
    EXPECT_EQ(row.start.from_ns, facts.start->from_ns);
    EXPECT_EQ(row.start.trained_ns, facts.start->trained_ns);
    EXPECT_EQ(row.start.recovery, facts.start->recovery);
    EXPECT_EQ(row.start.parts, facts.start->parts);
    EXPECT_EQ(row.start.outside_ns, facts.start->outside_ns);
  }
  EXPECT_EQ(row.cache, facts.cache);
  ASSERT_EQ(row.has_failure, facts.failure.has_value());
  if (row.has_failure) {
    EXPECT_EQ(row.failure.t_ns, facts.failure->t_ns);
    EXPECT_EQ(row.failure.origin, facts.failure->origin);
    EXPECT_EQ(snapshot.categories()[row.failure.category], facts.failure->category);
    EXPECT_EQ(snapshot.hosts()[row.failure.host], facts.failure->host);
    EXPECT_EQ(row.failure.lost_ns, facts.failure->lost_ns);
    EXPECT_EQ(row.failure.unsaved_ns, facts.failure->unsaved_ns);
    EXPECT_EQ(row.failure.time_to_recover_ns, facts.failure->time_to_recover_ns.value_or(-1));
  }
}

void expect_same(const Snapshot& snapshot, const std::vector<MadeJob>& jobs) {
  const Rows rows = rows_of(snapshot);
  std::size_t count = 0;
  for (const MadeJob& job : jobs) {
    for (const AttemptFacts& facts : job.attempts) {
      const auto found = rows.find({job.name, facts.attempt});
      ASSERT_NE(found, rows.end()) << job.name;
      expect_same(snapshot, found->second, facts);
      ++count;
    }
  }
  EXPECT_EQ(rows.size(), count);
  EXPECT_EQ(snapshot.attempts(), count);
}

TEST(Table, HoldsWhatItWasTold) {
  const std::vector<MadeJob> jobs = made_jobs(11, 300);
  expect_same(*snapshot_of(jobs), jobs);
}

TEST(Table, UpsertReplacesExactlyInAnyOrder) {
  constexpr std::uint64_t seed = 5;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const std::vector<MadeJob> jobs = made_jobs(seed, 1500);
  // Earlier versions of attempts (of other jobs, so of other shapes) first, then the right ones,
  // all in disorder and some twice.
  struct Told {
    std::string job;
    AttemptFacts facts;
  };
  std::vector<Told> early, right;
  for (const MadeJob& job : jobs) {
    for (const AttemptFacts& facts : job.attempts) {
      right.push_back({job.name, facts});
      const MadeJob& other = jobs[random() % jobs.size()];
      AttemptFacts wrong = other.attempts[random() % other.attempts.size()];
      wrong.attempt = facts.attempt;
      early.push_back({job.name, wrong});
      if (random() % 3 == 0) right.push_back({job.name, facts});
    }
  }
  std::ranges::shuffle(early, random);
  std::ranges::shuffle(right, random);
  FleetTable table;
  for (const Told& told : early) ASSERT_TRUE(table.upsert(told.job, told.facts));
  const auto before = table.snapshot();
  const Rows rows_before = rows_of(*before);
  for (const Told& told : right) ASSERT_TRUE(table.upsert(told.job, told.facts));
  expect_same(*table.snapshot(), jobs);
  // The snapshot from before has not changed.
  EXPECT_EQ(rows_of(*before).size(), rows_before.size());
  for (const Told& told : early) {
    const Rows::const_iterator row = rows_before.find({told.job, told.facts.attempt});
    expect_same(*before, row->second, told.facts);
  }
  EXPECT_EQ(table.troubles(), TableTroubles{});
}

TEST(Table, SameFactsAgainNeedNoSpace) {
  const std::vector<MadeJob> jobs = made_jobs(3, 800);
  FleetTable table;
  for (int round = 0; round < 5; ++round) {
    for (const MadeJob& job : jobs) table.replace_job(job.name, job.attempts);
  }
  FleetTable once;
  for (const MadeJob& job : jobs) once.replace_job(job.name, job.attempts);
  EXPECT_EQ(table.chunks(), once.chunks());
  expect_same(*table.snapshot(), jobs);
}

TEST(Table, GapsAreGivenBack) {
  // One job grows and grows, another one beside it: rows move for ever.
  FleetTable table;
  AttemptFacts facts = facts_by_hand(1, "a", 1, kHourNs, 1, 0);
  for (int i = 0; i < 20'000; ++i) {
    facts.slices.resize(static_cast<std::size_t>(i % 7 + 1));
    for (std::size_t s = 0; s < facts.slices.size(); ++s) {
      facts.slices[s].day = kDay + static_cast<std::int32_t>(s);
    }
    table.upsert(i % 2 == 0 ? "a" : "b", facts);
  }
  EXPECT_EQ(table.attempts(), 2u);
  EXPECT_LE(table.chunks(), 3u);
}

TEST(Table, ForgetsJobs) {
  std::vector<MadeJob> jobs = made_jobs(4, 900);
  FleetTable table;
  for (const MadeJob& job : jobs) table.replace_job(job.name, job.attempts);
  for (std::size_t i = 0; i < 600; ++i) EXPECT_TRUE(table.erase_job(jobs[i].name));
  EXPECT_FALSE(table.erase_job(jobs[0].name));
  EXPECT_FALSE(table.erase_job("never seen"));
  // A job that comes with fewer attempts has only those.
  jobs.erase(jobs.begin(), jobs.begin() + 600);
  for (MadeJob& job : jobs) {
    job.attempts.resize((job.attempts.size() + 1) / 2);
    table.replace_job(job.name, job.attempts);
  }
  expect_same(*table.snapshot(), jobs);
}

TEST(Table, GarbageIsClampedAndCounted) {
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
  FleetTable table;
  for (const std::int64_t garbage : {lowest, highest, std::int64_t{-1}}) {
    AttemptFacts facts;
    facts.attempt = garbage;
    facts.devices = garbage < 0 ? 0 : 0xffffffff;
    facts.begin_ns = facts.end_ns = garbage;
    facts.ending = static_cast<Ending>(77);
    Slice& slice = facts.slices.emplace_back();
    slice.day = garbage < 0 ? std::numeric_limits<std::int32_t>::min()
                            : std::numeric_limits<std::int32_t>::max();
    slice.sums.ns.fill(garbage);
    slice.failure_ns = slice.queued_ns = garbage;
    slice.saves = 0xffffffff;
    Start& start = facts.start.emplace();
    start.from_ns = garbage;
    start.trained_ns = -(garbage / 2);
    start.parts.ns.fill(garbage);
    FailureFact& failure = facts.failure.emplace();
    failure.origin = static_cast<Origin>(200);
    failure.t_ns = failure.lost_ns = failure.unsaved_ns = garbage;
    failure.time_to_recover_ns = garbage;
    EXPECT_TRUE(table.upsert("garbage", facts));
    AttemptFacts nothing;
    nothing.attempt = garbage / 3;
    EXPECT_TRUE(table.upsert("no slices", nothing));
  }
  EXPECT_GT(table.troubles().numbers_clamped, 60u);
  for (const Weight weight : {Weight::device, Weight::job}) {
    Selection selection = all_days();
    selection.to_day = 200'000;
    selection.weight = weight;
    for (const By& by : {By{}, By{{Dimension::family}, false}, By{{}, true}}) {
      const Rollup rollup = roll_up(*table.snapshot(), selection, by);
      EXPECT_GE(*rollup.total.ett_pct.value, 0);
      EXPECT_LE(*rollup.total.ett_pct.value, 100);
    }
  }
}

TEST(Table, BoundsAreKept) {
  FleetTable table;
  AttemptFacts facts = facts_by_hand(1, "", 1, 1, 0, 0);
  for (int i = 0; i < 70; ++i) {
    facts.levers = {"lever-" + std::to_string(i)};
    table.upsert("levers", facts);
  }
  EXPECT_EQ(table.troubles().levers_dropped, 70 - AttemptFacts::levers_max);
  facts.levers.clear();
  facts.dimensions[0] = std::string(5000, 'x');
  table.upsert("long", facts);
  for (std::uint32_t i = 0; i < FleetTable::values_max + 10; ++i) {
    facts.dimensions[0] = "value-" + std::to_string(i);
    table.upsert("values", facts);
  }
  // Three of them are kOther, "" and the long one.
  EXPECT_EQ(table.troubles().values_dropped, 13u);
  const auto snapshot = table.snapshot();
  EXPECT_EQ(snapshot->values(Dimension::family)[0], FleetTable::kOther);
  const Rows rows = rows_of(*snapshot);
  EXPECT_EQ(rows.at({"values", 1}).dimensions[0], 0);
  const auto cut = rows.at({"long", 1}).dimensions[0];
  EXPECT_EQ(snapshot->values(Dimension::family)[cut].size(), AttemptFacts::text_max);
}

TEST(Table, SnapshotsAreReadWhileTheTableIsWritten) {
  const std::vector<MadeJob> jobs = made_jobs(8, 400);
  FleetTable table;
  for (const MadeJob& job : jobs) table.replace_job(job.name, job.attempts);
  const auto snapshot = table.snapshot();
  EXPECT_EQ(table.snapshot(), snapshot);
  const Rollup expected = roll_up(*snapshot, all_days(), {{Dimension::family}, false});
  std::thread reader([&] {
    for (int i = 0; i < 20; ++i) {
      const Rollup again = roll_up(*snapshot, all_days(), {{Dimension::family}, false});
      EXPECT_EQ(again.total.device_ns, expected.total.device_ns);
      EXPECT_EQ(again.groups.size(), expected.groups.size());
    }
  });
  const std::vector<MadeJob> more = made_jobs(9, 400);
  for (const MadeJob& job : more) table.replace_job(job.name, job.attempts);
  for (const MadeJob& job : more) table.replace_job(job.name + "-new", job.attempts);
  reader.join();
  EXPECT_NE(table.snapshot(), snapshot);
}

}  // namespace
}  // namespace headway::fleet
