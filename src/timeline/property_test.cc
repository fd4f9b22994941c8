// For any stream of events, garbage included: buckets are never negative and sum to the wall to the
// nanosecond, for the job, for every rank and for any window; the order of journals says nothing.
// Seeded; a failure prints the seed and the command that replays it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "base/saturate.h"
#include "timeline/test_stream.h"

namespace headway::timeline {
namespace {

using event::EventType;
using test::Story;

std::int64_t garbage_time(std::mt19937_64& rng, std::int64_t near) {
  const auto later = [&](std::int64_t ns) { return base::add_saturated(near, ns); };
  switch (rng() % 40) {
    case 0:
      return later(-3'600'000'000'000);  // the clock jumps an hour back
    case 1:
      return later(3'600'000'000'000);
    case 2:
      return rng() % 20 == 0 ? INT64_MAX : near;
    case 3:
      return rng() % 20 == 0 ? INT64_MIN : near;
    default:
      return later(static_cast<std::int64_t>(rng() % 2'000'000'000) - 100'000'000);
  }
}

// Mostly plausible, partly garbage: every type, bad names, bad lanes, times that jump.
Story garbage(std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  Story story;
  const auto attempts = 1 + rng() % 5;
  const auto ranks = 1 + rng() % 4;
  const bool tidy = rng() % 3 == 0;
  std::int64_t base = 0;
  for (std::uint64_t a = 0; a < attempts; ++a) {
    const auto id = static_cast<std::int64_t>(rng() % 4 == 0 ? (a + 1) << 16 : a + 1);
    for (std::uint64_t r = 0; r < ranks; ++r) {
      story.as(id, rng() % 12 == 0 ? event::kAgentRank : static_cast<std::uint32_t>(r));
      std::int64_t t = base + static_cast<std::int64_t>(rng() % 1'000'000'000);
      std::int64_t step = static_cast<std::int64_t>(rng() % 50);
      const auto count = rng() % 120;
      for (std::uint64_t i = 0; i < count; ++i) {
        t = tidy ? base::add_saturated(t, static_cast<std::int64_t>(rng() % 500'000'000))
                 : garbage_time(rng, t);
        const auto lane = static_cast<std::uint16_t>(rng() % 10 == 0 ? rng() % 400 : 0);
        const auto phase = static_cast<std::uint16_t>(rng() % 20 == 0 ? rng() % 65536 : rng() % 18);
        switch (rng() % 14) {
          case 0:
            story.put_ns(t, EventType::mark, static_cast<std::uint16_t>(rng() % 12),
                         static_cast<std::int64_t>(rng()), static_cast<std::int64_t>(rng()));
            break;
          case 1:
          case 2:
            story.put_ns(t, EventType::begin, phase, 0, 0, lane);
            break;
          case 3:
          case 4:
            story.put_ns(t, EventType::end, phase, static_cast<std::int64_t>(rng() % 2), 0, lane);
            break;
          case 5:
            story.put_ns(t, EventType::checkpoint, static_cast<std::uint16_t>(rng() % 4), step,
                         step * 10);
            break;
          case 6:
            story.put_ns(t, EventType::restore, 0, step - 3, (step - 3) * 10);
            break;
          case 7:
            story.put_ns(t, static_cast<EventType>(rng() % 16), phase,
                         static_cast<std::int64_t>(rng()), static_cast<std::int64_t>(rng()), lane);
            break;
          case 8:
            if (rng() % 8 == 0) story.put_ns(t, EventType::device_done, 0, step);
            break;
          case 9:
            if (rng() % 8 == 0) step -= static_cast<std::int64_t>(rng() % 20);
            break;
          default:
            if (rng() % 2)
              story.put_ns(t, EventType::step, 0, step + 1,
                           rng() % 30 ? (step + 1) * 10 : HW_NO_DATA);
            t = base::add_saturated(t, static_cast<std::int64_t>(rng() % 400'000'000));
            story.put_ns(t, EventType::step_end, 0, step + 1, (step + 1) * 10);
            ++step;
        }
      }
    }
    base += static_cast<std::int64_t>(rng() % 60) * 1'000'000'000;
  }
  return story;
}

void check_partition(const JobResult& job, std::mt19937_64& rng) {
  const Account total = job.ledger.total();
  std::int64_t wall = 0;
  std::int64_t at = INT64_MIN;
  for (const Piece& p : job.ledger.pieces()) {
    ASSERT_GE(p.t0_ns, at);
    at = p.t1_ns;
    wall += p.t1_ns - p.t0_ns;
    for (const std::int64_t ns : p.sums.ns) ASSERT_GE(ns, 0);
    ASSERT_EQ(p.sums.total(), p.t1_ns - p.t0_ns);
  }
  ASSERT_EQ(total.sums.total(), wall);
  ASSERT_GE(total.failure_ns, 0);
  ASSERT_LE(total.failure_ns, wall - total.sums[Bucket::effective]);
  ASSERT_GE(job.outside_ns(true), 0);
  ASSERT_GE(job.outside_ns(false), 0);
  ASSERT_GE(job.overlap_ns, 0);
  for (std::size_t i = 0; i < job.attempts.size(); ++i) {
    const AttemptResult& a = job.attempts[i];
    ASSERT_GE(job.unsaved_by_attempt_ns[i], 0);
    ASSERT_LE(job.unsaved_by_attempt_ns[i], a.train_ns);
    ASSERT_GE(a.failure_pre_ns, 0);
    ASSERT_GE(a.failure_post_ns, 0);
    for (const RankShare& r : a.ranks) {
      ASSERT_EQ(r.sums.total(), a.end_ns - a.launch_ns);
      for (const std::int64_t ns : r.sums.ns) ASSERT_GE(ns, 0);
    }
  }
  if (job.ledger.empty()) return;
  std::vector<std::int64_t> cuts = {job.ledger.begin_ns() - 5, job.ledger.end_ns() + 5};
  const auto length = static_cast<std::uint64_t>(job.ledger.end_ns() - job.ledger.begin_ns()) + 1;
  for (int i = 0; i < 20; ++i)
    cuts.push_back(job.ledger.begin_ns() + static_cast<std::int64_t>(rng() % length));
  std::sort(cuts.begin(), cuts.end());
  Account sum;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const Account w = job.ledger.window(cuts[i], cuts[i + 1]);
    for (const std::int64_t ns : w.sums.ns) ASSERT_GE(ns, 0);
    std::int64_t inside = 0;  // of the wall: what one window loses must not turn up in the next
    for (const Piece& p : job.ledger.pieces()) {
      inside +=
          std::max<std::int64_t>(0, std::min(p.t1_ns, cuts[i + 1]) - std::max(p.t0_ns, cuts[i]));
    }
    ASSERT_EQ(w.sums.total(), inside);
    sum += w;
  }
  ASSERT_EQ(sum, total);
}

TEST(Property, ThePartitionHoldsForAnyStream) {
  const char* only = std::getenv("HEADWAY_SEED");
  const std::uint64_t first = only ? std::strtoull(only, nullptr, 10) : 1;
  const std::uint64_t last = only ? first : 4000;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE("replay with HEADWAY_SEED=" + std::to_string(seed) + " timeline_property_test");
    const Story story = garbage(seed);
    std::mt19937_64 rng(seed);
    event::JobStreams streams = story.streams();
    JobOptions options;
    if (seed % 3 == 0) options.now_ns = static_cast<std::int64_t>(seed) * 1'000'000'000;
    const JobResult job = attribute_job(streams, options);
    check_partition(job, rng);
    std::shuffle(streams.streams.begin(), streams.streams.end(), rng);
    const JobResult again = attribute_job(streams, options);
    ASSERT_EQ(again.ledger.total(), job.ledger.total());
    ASSERT_EQ(again.unsaved_ns, job.unsaved_ns);
    ASSERT_EQ(again.outside_ns(true), job.outside_ns(true));
    ASSERT_EQ(again.outside_ns(false), job.outside_ns(false));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace headway::timeline
