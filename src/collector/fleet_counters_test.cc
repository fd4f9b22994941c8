#include "collector/fleet_counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "fleet/bucket_words.h"
#include "fleet/rollup.h"
#include "fleet/test_facts.h"

namespace headway::collector {
namespace {

using base::Int128;
using fleet::AttemptFacts;
using fleet::facts_by_hand;
using fleet::FleetTable;
using fleet::kSecondNs;
using interchange::Families;
using interchange::Family;
using interchange::Labels;
using ::testing::Contains;
using ::testing::Pair;
using timeline::Bucket;

constexpr std::int64_t kNow = (fleet::kDay + 1) * fleet::kDayNs;

// Every number that is a counter, or part of one, by name and labels.
using Numbers = std::map<std::string, Int128>;
Numbers counters(const FleetCounters& from) {
  Families out;
  from.append_to(out);
  Numbers numbers;
  for (const Family& family : out.all()) {
    if (family.type == interchange::FamilyType::gauge) continue;
    for (const interchange::Sample& sample : family.samples) {
      std::string name = family.name;
      for (const auto& [key, text] : sample.labels) name += " " + key + "=" + text;
      if (const auto* time = std::get_if<interchange::Seconds>(&sample.value)) {
        numbers[name] = time->ns;
      } else if (const auto* count = std::get_if<std::uint64_t>(&sample.value)) {
        numbers[name] = *count;
      } else {
        const auto& histogram = std::get<interchange::Histogram>(sample.value);
        for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
          numbers[name + " bin" + std::to_string(i)] = histogram.counts[i];
        }
        numbers[name + " sum"] = histogram.sum.ns;
      }
    }
  }
  return numbers;
}

Family family_of(const FleetCounters& from, std::string_view name) {
  Families out;
  from.append_to(out);
  for (const Family& family : out.all()) {
    if (family.name == name) return family;
  }
  ADD_FAILURE() << "no " << name;
  return {};
}

Int128 sum_of(const Numbers& numbers, std::string_view begin, std::string_view with = "") {
  Int128 sum = 0;
  for (const auto& [name, number] : numbers) {
    if (name.starts_with(begin) && name.find(with) != std::string::npos) sum += number;
  }
  return sum;
}

std::int64_t seconds_of(const Numbers& numbers, std::string_view with) {
  return static_cast<std::int64_t>(sum_of(numbers, "headway_fleet_device_seconds ", with) /
                                   kSecondNs);
}

AttemptFacts made(std::int64_t attempt, std::string_view family, std::int64_t effective_s,
                  std::int64_t idle_s = 0) {
  return facts_by_hand(attempt, family, 2, effective_s * kSecondNs, idle_s * kSecondNs, 0);
}

TEST(FleetCounters, CountFromTheFirstSnapshotOn) {
  FleetTable table;
  FleetCounters fleet;
  table.upsert("old", made(1, "dlrm", 1000));
  fleet.take(*table.snapshot(), kNow);
  EXPECT_EQ(seconds_of(counters(fleet), ""), 0) << "what was there before is not news";
  EXPECT_EQ(counters(fleet).count("headway_fleet_failures family=dlrm team= cluster= hardware= "
                                  "origin=infra"),
            1u)
      << "a counter is there before it moves";
  table.upsert("old", made(1, "dlrm", 1010, 3));
  table.upsert("new", made(1, "vit", 7));
  fleet.take(*table.snapshot(), kNow);
  EXPECT_EQ(seconds_of(counters(fleet), "family=dlrm"), 2 * 13);
  EXPECT_EQ(seconds_of(counters(fleet), "family=dlrm team= cluster= hardware= group=effective"),
            2 * 10);
  EXPECT_EQ(seconds_of(counters(fleet), "family=vit"), 2 * 7) << "all of a newcomer is news";
}

TEST(FleetCounters, WhatIsAttributedAnewIsNotCountedTwice) {
  FleetTable table;
  FleetCounters fleet;
  fleet.take(*table.snapshot(), kNow);
  table.upsert("j", made(1, "dlrm", 100));
  fleet.take(*table.snapshot(), kNow);
  table.upsert("j", made(1, "dlrm", 90, 10));  // a step was interrupted after all
  fleet.take(*table.snapshot(), kNow);
  EXPECT_EQ(seconds_of(counters(fleet), "bucket=effective"), 2 * 100) << "it stands still";
  EXPECT_EQ(seconds_of(counters(fleet), "bucket=compile_cold"), 2 * 10);
  table.upsert("k", made(1, "dlrm", 15));
  fleet.take(*table.snapshot(), kNow);
  EXPECT_EQ(seconds_of(counters(fleet), "bucket=effective"), 2 * 105) << "and has caught up";
}

TEST(FleetCounters, WhatCachesHeldIsCounted) {
  FleetTable table;
  FleetCounters fleet;
  fleet.take(*table.snapshot(), kNow);
  AttemptFacts facts = made(1, "dlrm", 100, 3);
  facts.cache = fleet::CacheFact{.hits = 5,
                                 .misses = 2,
                                 .bypasses = 1,
                                 .original_ns = 40 * kSecondNs,
                                 .spent_ns = 4 * kSecondNs};
  table.upsert("j", facts);
  fleet.take(*table.snapshot(), kNow);
  const Numbers numbers = counters(fleet);
  EXPECT_EQ(sum_of(numbers, "headway_fleet_compile_cache_graphs ", "outcome=hit"), 5);
  EXPECT_EQ(sum_of(numbers, "headway_fleet_compile_cache_graphs ", "outcome=miss"), 2);
  EXPECT_EQ(sum_of(numbers, "headway_fleet_compile_cache_graphs ", "outcome=bypass"), 1);
  EXPECT_EQ(sum_of(numbers, "headway_fleet_compile_cache_seconds ", "of=original"), 40 * kSecondNs);
  EXPECT_EQ(sum_of(numbers, "headway_fleet_compile_cache_seconds ", "of=spent"), 4 * kSecondNs);
}

TEST(FleetCounters, WhatIsForgottenHoldsNothingUp) {
  FleetTable table;
  FleetCounters fleet;
  fleet.take(*table.snapshot(), kNow);
  table.upsert("a", made(1, "dlrm", 100));
  table.upsert("b", made(1, "dlrm", 50));
  fleet.take(*table.snapshot(), kNow);
  table.erase_job("a");
  fleet.take(*table.snapshot(), kNow);
  EXPECT_EQ(seconds_of(counters(fleet), "bucket=effective"), 2 * 150);
  table.upsert("b", made(1, "dlrm", 57));
  fleet.take(*table.snapshot(), kNow);
  EXPECT_EQ(seconds_of(counters(fleet), "bucket=effective"), 2 * 157);
}

TEST(FleetCounters, AnOlderSnapshotForgetsNothing) {
  FleetTable table;
  FleetCounters fleet;
  table.upsert("a", made(1, "dlrm", 100));
  const auto older = table.snapshot();
  fleet.take(*older, kNow);
  table.upsert("b", made(1, "dlrm", 10));
  const auto newer = table.snapshot();
  fleet.take(*newer, kNow);
  fleet.take(*older, kNow);
  fleet.take(*newer, kNow);
  EXPECT_EQ(seconds_of(counters(fleet), ""), 2 * 10);
}

TEST(FleetCounters, LabelSetsAreBoundedAndKeepTheirNames) {
  FleetTable table;
  FleetCounters fleet;
  constexpr std::int64_t kFamilies = 200;
  const auto name = [](std::int64_t i) { return "f" + std::to_string(i); };
  for (std::int64_t i = 0; i < kFamilies; ++i) table.upsert(name(i), made(1, name(i), 10 + i));
  fleet.take(*table.snapshot(), kNow);
  const auto sets = [&] {
    std::set<std::string> out;
    for (const auto& [text, number] : counters(fleet)) {
      const std::size_t at = text.find("family=");
      out.insert(text.substr(at, text.find(' ', at) - at));
    }
    return out;
  };
  const auto before = sets();
  EXPECT_EQ(before.size(), FleetCounters::label_sets_max + 1);
  EXPECT_TRUE(before.contains("family=f199")) << "the largest have names";
  EXPECT_TRUE(before.contains("family=other"));
  EXPECT_FALSE(before.contains("family=f0"));
  // The smallest becomes the largest: names stay, nothing is lost, nothing goes down.
  table.upsert(name(0), made(1, name(0), 100'000));
  fleet.take(*table.snapshot(), kNow);
  EXPECT_EQ(sets(), before);
  EXPECT_EQ(seconds_of(counters(fleet), "family=other"), 2 * (100'000 - 10));
  EXPECT_EQ(seconds_of(counters(fleet), ""), 2 * (100'000 - 10));
}

TEST(FleetCounters, CausesAreBounded) {
  FleetTable table;
  FleetCounters fleet;
  fleet.take(*table.snapshot(), kNow);
  for (std::int64_t i = 1; i <= 60; ++i) {
    AttemptFacts facts = made(i, "dlrm", 1);
    facts.ending = fleet::Ending::failed;
    facts.failure = fleet::FailureFact{};
    facts.failure->origin = i % 2 == 0 ? fleet::Origin::infra : fleet::Origin::user;
    facts.failure->category = i == 2 ? "" : "cause-" + std::to_string(i);
    facts.failure->unsaved_ns = kSecondNs;
    table.upsert("j", facts);
  }
  fleet.take(*table.snapshot(), kNow);
  const Numbers numbers = counters(fleet);
  std::size_t causes = 0;
  for (const auto& [name, number] : numbers) causes += name.find("category=") != name.npos ? 1 : 0;
  EXPECT_EQ(causes, FleetCounters::causes_max + 2);
  EXPECT_EQ(sum_of(numbers, "headway_fleet_failure_causes "), 60);
  EXPECT_EQ(sum_of(numbers, "headway_fleet_failures ", "origin=infra"), 30);
  EXPECT_EQ(sum_of(numbers, "headway_fleet_failure_causes ", "category=unjudged"), 1);
  EXPECT_EQ(sum_of(numbers, "headway_fleet_unsaved_device_seconds "), Int128{60} * 2 * kSecondNs);
}

TEST(FleetCounters, StartsAndRecoveriesFallIntoBins) {
  FleetTable table;
  FleetCounters fleet;
  fleet.take(*table.snapshot(), kNow);
  AttemptFacts facts = made(1, "dlrm", 1);
  facts.start = fleet::start_by_hand(0, 30 * kSecondNs);
  table.upsert("a", facts);
  facts.start = fleet::start_by_hand(0, 30 * kSecondNs + 1, true);
  table.upsert("b", facts);
  facts.start = fleet::start_by_hand(0, 100'000 * kSecondNs, true);
  table.upsert("c", facts);
  fleet.take(*table.snapshot(), kNow);
  const Numbers numbers = counters(fleet);
  const std::string labels = " family=dlrm team= cluster= hardware=";
  EXPECT_THAT(numbers, Contains(Pair("headway_fleet_time_to_start_seconds" + labels + " bin2",
                                     Int128{1})));  // up to 30 s, 30 s included
  EXPECT_THAT(numbers, Contains(Pair("headway_fleet_time_to_recover_seconds" + labels + " bin3",
                                     Int128{1})));
  EXPECT_THAT(numbers, Contains(Pair("headway_fleet_time_to_recover_seconds" + labels + " bin12",
                                     Int128{1})));
  EXPECT_EQ(sum_of(numbers, "headway_fleet_time_to_recover_seconds", "sum"),
            Int128{100'030} * kSecondNs + 1);
}

TEST(FleetCounters, WhatSaysNothingMoreDoesNotRun) {
  FleetTable table;
  FleetCounters fleet;
  AttemptFacts facts = made(1, "dlrm", 100);
  facts.ending = fleet::Ending::running;
  facts.begin_ns = kNow - 2 * fleet::kDayNs;
  facts.end_ns = kNow - kSecondNs;
  table.upsert("a", facts);
  facts.end_ns = kNow - FleetCounters::silent_ns - 1;
  table.upsert("b", facts);
  facts.end_ns = kNow - FleetCounters::unended_ns;
  table.upsert("c", facts);
  facts.end_ns = kNow - FleetCounters::unended_ns - 1;
  table.upsert("forgotten", facts);
  facts.ending = fleet::Ending::failed;
  facts.end_ns = kNow - FleetCounters::silent_ns - 1;
  table.upsert("over", facts);
  fleet.take(*table.snapshot(), kNow);
  const auto gauge = [&](const std::string& name) {
    return std::get<std::uint64_t>(family_of(fleet, name).samples.at(0).value);
  };
  EXPECT_EQ(gauge("headway_fleet_running_jobs"), 1u);
  EXPECT_EQ(gauge("headway_fleet_running_devices"), 2u);
  EXPECT_EQ(gauge("headway_fleet_unended_jobs"), 2u);
}

// Shares of two label sets can be added up by whoever reads, with these as weights.
TEST(FleetCounters, TimesOfTheLastDaysAddUpToThem) {
  FleetTable table;
  FleetCounters fleet;
  table.upsert("a", facts_by_hand(1, "dlrm", 2, 50 * kSecondNs, 30 * kSecondNs, 20 * kSecondNs));
  table.upsert("old", facts_by_hand(1, "dlrm", 2, 50 * kSecondNs, 0, 0, fleet::kDay - 7));
  fleet.take(*table.snapshot(), kNow);
  const Family family = family_of(fleet, "headway_fleet_recent_device_seconds");
  std::map<std::string, Int128> times;
  for (const auto& sample : family.samples) {
    times[sample.labels.back().second] = std::get<interchange::Seconds>(sample.value).ns;
  }
  EXPECT_EQ(times, (std::map<std::string, Int128>{{"effective", Int128{100} * kSecondNs},
                                                  {"failure", Int128{40} * kSecondNs},
                                                  {"idleness", Int128{60} * kSecondNs}}));
}

// Whatever happens to the table, no counter goes down; and where nothing shrinks, they say what a
// roll-up says.
TEST(FleetCounters, NeverGoDown) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  FleetTable table;
  FleetCounters fleet;
  Numbers last;
  const std::vector<fleet::MadeJob> jobs = fleet::made_jobs(seed, 100);
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 5; ++i) {
      const fleet::MadeJob& job = jobs[random() % jobs.size()];
      if (random() % 10 == 0) {
        table.erase_job(job.name);
        continue;
      }
      AttemptFacts facts = job.attempts[random() % job.attempts.size()];
      for (auto& slice : facts.slices) {  // told again, a little otherwise
        for (auto& ns : slice.sums.ns) ns = ns * static_cast<std::int64_t>(random() % 100) / 100;
      }
      if (facts.failure && random() % 2 == 0) facts.failure->category = "cause";
      table.upsert(job.name, facts);
    }
    fleet.take(*table.snapshot(), kNow);
    const Numbers now = counters(fleet);
    for (const auto& [name, number] : last) {
      const auto found = now.find(name);
      if (found == now.end()) continue;  // a label set without attempts is not told
      ASSERT_GE(found->second, number) << name;
    }
    for (const auto& [name, number] : now) last[name] = number;
  }
}

TEST(FleetCounters, SayWhatARollUpSays) {
  constexpr std::uint64_t kSeed = 11;
  FleetTable table;
  FleetCounters fleet;
  fleet.take(*table.snapshot(), kNow);
  for (const fleet::MadeJob& job : fleet::made_jobs(kSeed, 500)) {
    for (const AttemptFacts& facts : job.attempts) table.upsert(job.name, facts);
  }
  const auto snapshot = table.snapshot();
  fleet.take(*snapshot, kNow);
  const Numbers numbers = counters(fleet);
  const fleet::Rollup rollup = fleet::roll_up(*snapshot, fleet::all_days(), {});
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    const auto word = fleet::bucket_word(static_cast<Bucket>(i));
    EXPECT_EQ(sum_of(numbers, "headway_fleet_device_seconds ", "bucket=" + std::string(word)),
              rollup.total.device_ns[i])
        << word;
  }
  EXPECT_EQ(sum_of(numbers, "headway_fleet_checkpoints "), Int128{rollup.total.saves});
  EXPECT_EQ(sum_of(numbers, "headway_fleet_failures ", "origin=infra") +
                sum_of(numbers, "headway_fleet_failures ", "origin=unknown"),
            Int128{rollup.total.failures});
  EXPECT_EQ(sum_of(numbers, "headway_fleet_queued_seconds "), rollup.total.queued_ns);
}

}  // namespace
}  // namespace headway::collector
