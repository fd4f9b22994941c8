// What is made up must hold together as what is measured does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "demo/told_job.h"
#include "fleet/facts_of.h"
#include "ingest/batch.h"
#include "ingest/progress.h"
#include "record/slot_reader.h"
#include "timeline/job.h"

namespace headway::demo {
namespace {

constexpr std::int64_t kNow = 1'795'000'000'000'000'000;
constexpr std::uint64_t kSeed = 3;

// A told job's journals, read as any journal is.
timeline::JobResult attribute(const PlannedJob& plan, const ToldJob& told,
                              std::shared_ptr<event::NameTable> names) {
  event::JobStreams streams;
  streams.job = plan.name;
  streams.names = names;
  for (const ToldAttempt& attempt : told.attempts) {
    for (const JournalMaker& journal : attempt.journals) {
      record::SlotReader reader(journal.header(), *names);
      std::vector<event::Record> slots = journal.records();
      EXPECT_EQ(reader.consume(slots, nullptr), slots.size());
      const auto events = reader.events();
      const event::StreamInfo info = record::stream_info(journal.header(), journal.file().c_str());
      streams.streams.push_back(
          {info, [info, all = std::vector<event::Event>(events.begin(), events.end())] {
             return std::make_unique<event::VectorSource>(info, all);
           }});
    }
  }
  return timeline::attribute_job(streams, {});
}

TEST(Demo, JobsMakeSense) {
  const auto plans = plan_fleet(kSeed, kNow, 3);
  ASSERT_GT(plans.size(), 200u);
  std::size_t failures = 0, clean = 0, asked = 0, unpacked = 0;
  for (const PlannedJob& plan : plans) {
    const ToldJob told = tell(plan);
    auto names = std::make_shared<event::NameTable>();
    const timeline::JobResult job = attribute(plan, told, names);
    ASSERT_EQ(job.attempts.size(), told.attempts.size()) << plan.name;
    for (const timeline::AttemptResult& attempt : job.attempts) {
      if (!attempt.failure) {  // a step that was cut off is one
        EXPECT_EQ(attempt.facts.anomalies.total(), 0u) << plan.name;
      }
      EXPECT_EQ(attempt.facts.anomalies.out_of_order, 0u);
      EXPECT_EQ(attempt.ranks_reporting, plan.ranks);
    }
    EXPECT_EQ(job.attempts.back().last_step, plan.steps) << plan.name;
    clean += job.attempts.back().outcome == timeline::Outcome::clean;
    const auto facts = fleet::facts_of(job, *names);
    for (const fleet::AttemptFacts& each : facts) {
      failures += each.failure.has_value();
      asked += each.cache && each.cache->asked;
      unpacked += each.cache && each.cache->unpacked;
      EXPECT_EQ(each.dimensions[0], plan.attributes.front().second);
      EXPECT_EQ(each.devices, plan.ranks * (plan.ranks == kLargeRanks ? 1 : 8));
    }
  }
  EXPECT_EQ(clean, plans.size());
  EXPECT_GT(failures, 20u);
  EXPECT_GT(unpacked, 20u);
  EXPECT_GT(asked, unpacked) << "a first job finds nothing";
}

TEST(Demo, TheSameSeedIsTheSameFleet) {
  const auto one = plan_fleet(kSeed, kNow, 2), two = plan_fleet(kSeed, kNow, 2),
             other = plan_fleet(kSeed + 1, kNow, 2);
  ASSERT_EQ(one.size(), two.size());
  bool differs = one.size() != other.size();
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].name, two[i].name);
    EXPECT_EQ(one[i].submitted_ns, two[i].submitted_ns);
    EXPECT_EQ(tell(one[i]).end_ns, tell(two[i]).end_ns);
    differs = differs || one[i].submitted_ns != other[i].submitted_ns;
  }
  EXPECT_TRUE(differs);
}

// Told bit by bit as time goes on, a receiver has it all in the end, each record once.
TEST(Demo, BatchesTellAllOfIt) {
  const PlannedJob plan = plan_fleet(kSeed, kNow, 1).front();
  const ToldJob told = tell(plan);
  ingest::ProgressMap known;
  std::vector<std::vector<std::size_t>> sent(told.attempts.size());
  const std::int64_t step_ns = (told.end_ns - plan.submitted_ns) / 7;
  for (std::int64_t now = plan.submitted_ns; now < told.end_ns + 2 * step_ns; now += step_ns) {
    for (std::size_t i = 0; i < told.attempts.size(); ++i) {
      for (const auto& bytes : batches_until(told.attempts[i], sent[i], now)) {
        auto batch = ingest::Batch::parse(bytes, "batch");
        ASSERT_TRUE(batch.ok()) << batch.status().message();
        EXPECT_EQ(ingest::judge(*batch, plan.name, told.attempts[i].id, known).verdict,
                  ingest::Verdict::news);
      }
    }
  }
  for (const ToldAttempt& attempt : told.attempts) {
    for (const JournalMaker& journal : attempt.journals) {
      const ingest::Progress& progress = known.at(ingest::journal_id(journal.header()));
      EXPECT_EQ(progress.next_slot, journal.records().size());
      EXPECT_TRUE(progress.is_final());
    }
  }
}

}  // namespace
}  // namespace headway::demo
