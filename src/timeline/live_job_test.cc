// Told in pieces, a job comes out as when it is read at once.
#include "timeline/live_job.h"

#include <gtest/gtest.h>

#include <random>

#include "timeline/test_stream.h"

namespace headway::timeline {
namespace {

using test::sec;
using test::Story;

// Two attempts of three ranks, with saves, waits, a crash, and `data` throughout.
Story told(std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  Story s;
  std::int64_t from = 0;
  for (int attempt = 1; attempt <= 2; ++attempt) {
    const double begin = attempt * 100;
    s.as(attempt, event::kAgentRank).mark(begin, HW_MARK_LAUNCHER_START);
    for (std::uint32_t r = 0; r < 3; ++r) {
      s.as(attempt, r).span(begin + 0.1 * r, begin + 2 + r, HW_PHASE_IMPORTS);
      double t = begin + 5;
      for (int n = 1; n <= 30; ++n) {
        if (n % 7 == static_cast<int>(r)) s.span(t, t + 0.1, HW_PHASE_DATA_WAIT);
        s.step(t + 0.1, t + 1 + 0.001 * static_cast<double>(rng() % 100), from + n,
               (from + n) * 64);
        t += 1.2;
        if (n % 10 == 0) s.durable(t, from + n, (from + n) * 64);
      }
    }
    s.as(attempt, event::kAgentRank);
    if (attempt == 1)
      s.fail(begin + 45, {.signal = 9, .rank = 1}).exit(begin + 46, {.signal = 9, .rank = 1});
    if (attempt == 2) s.exit(begin + 45).mark(begin + 45.5, HW_MARK_JOB_END);
    from += 20;
  }
  return s;
}

event::JobStreams with_world_size(const Story& s) {
  event::JobStreams streams = s.streams();
  for (event::Stream& stream : streams.streams) {
    stream.info.world_size = 3;
    stream.open = [info = stream.info, open = stream.open] {
      const auto source = open();
      const auto all = source->next();
      return std::make_unique<event::VectorSource>(
          info, std::vector<event::Event>(all.begin(), all.end()));
    };
  }
  return streams;
}

TEST(LiveJob, AnyCutIntoBatchesGivesTheSameJob) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const event::JobStreams streams = with_world_size(told(seed));
    const JobResult whole = attribute_job(streams, {});
    std::mt19937_64 rng(seed);
    LiveJob live("j", streams.names);
    for (std::int64_t attempt = 1; attempt <= 2; ++attempt) {
      struct Cursor {
        event::StreamInfo info;
        std::vector<event::Event> events;
        std::size_t at = 0;
      };
      std::vector<Cursor> cursors;
      for (const event::Stream& stream : streams.streams) {
        if (stream.info.attempt != attempt) continue;
        const auto source = stream.open();
        const auto all = source->next();
        cursors.push_back({stream.info, {all.begin(), all.end()}});
      }
      // The launcher speaks first; after that anybody, any number of events at a time.
      std::swap(cursors.front(), cursors.back());
      live.consume(cursors.front().info, std::span(cursors.front().events).first(1));
      cursors.front().at = 1;
      while (!cursors.empty()) {
        Cursor& c = cursors[rng() % cursors.size()];
        const std::size_t n = std::min(c.events.size() - c.at, 1 + rng() % 9);
        live.consume(c.info, std::span(c.events).subspan(c.at, n));
        c.at += n;
        if (rng() % 16 == 0) (void)live.snapshot(std::nullopt);  // asking changes nothing
        std::erase_if(cursors, [](const Cursor& x) { return x.at == x.events.size(); });
      }
    }
    ASSERT_FALSE(live.must_reread());
    const JobResult told_live = live.snapshot(std::nullopt);
    EXPECT_EQ(told_live.ledger.total(), whole.ledger.total());
    EXPECT_EQ(told_live.unsaved_ns, whole.unsaved_ns);
    EXPECT_EQ(told_live.attempts[1].replayed_steps, whole.attempts[1].replayed_steps);
    EXPECT_EQ(whole.attempts[1].replayed_steps, 10u);
  }
}

// Whichever machine's ranks are heard of first.
TEST(LiveJob, EveryRankIsWhereItSaysItIs) {
  event::JobStreams streams = with_world_size(told(1));
  LiveJob live("j", streams.names);
  std::reverse(streams.streams.begin(), streams.streams.end());
  for (event::Stream& stream : streams.streams) {
    if (stream.info.attempt != 1 || stream.info.rank == event::kAgentRank) continue;
    stream.info.host = "host" + std::to_string(stream.info.rank);
    live.consume(stream.info, stream.open()->next().first(4));
  }
  ASSERT_FALSE(live.must_reread());
  const JobResult job = live.snapshot(std::nullopt);
  ASSERT_EQ(job.attempts.size(), 1u);
  ASSERT_EQ(job.attempts[0].ranks.size(), 3u);
  for (const RankShare& rank : job.attempts[0].ranks) {
    EXPECT_EQ(rank.host, "host" + std::to_string(rank.rank));
  }
}

TEST(LiveJob, ASnapshotReachesToNow) {
  auto names = std::make_shared<event::NameTable>();
  LiveJob live("j", names);
  Story s;
  s.mark(0, HW_MARK_LAUNCHER_START).step(2, 3, 1, 10).step(3, 4, 2, 20).begin(4, HW_PHASE_EVAL);
  const event::JobStreams streams = s.streams();
  const auto source = streams.streams[0].open();
  live.consume(streams.streams[0].info, source->next());
  EXPECT_EQ(live.snapshot(sec(10)).ledger.total().sums[Bucket::wasted_eval], sec(6));
  EXPECT_TRUE(live.snapshot(sec(10)).running);
  EXPECT_EQ(live.snapshot(sec(20)).ledger.total().sums.total(), sec(20));
}

TEST(LiveJob, WhatComesTooLateAsksForAReread) {
  auto names = std::make_shared<event::NameTable>();
  LiveJob live("j", names);
  event::Event e;
  e.type = event::EventType::step_end;
  e.a = 1;
  e.b = 10;
  event::StreamInfo first;
  first.attempt = 1;
  event::StreamInfo second;
  second.attempt = 2;
  live.consume(first, std::span(&e, 1));
  e.t_ns = sec(5);
  live.consume(second, std::span(&e, 1));
  EXPECT_FALSE(live.must_reread());
  live.consume(first, std::span(&e, 1));
  EXPECT_TRUE(live.must_reread());
}

// The first events of each stream, as many as `lengths` says.
event::JobStreams first_of(const event::JobStreams& streams,
                           const std::vector<std::size_t>& lengths) {
  event::JobStreams out = streams;
  out.streams.clear();
  for (std::size_t i = 0; i < streams.streams.size(); ++i) {
    event::Stream stream = streams.streams[i];
    if (lengths[i] == 0) continue;
    stream.open = [open = stream.open, n = lengths[i]] {
      const auto source = open();
      const auto all = source->next();
      return std::make_unique<event::VectorSource>(
          source->info(),
          std::vector<event::Event>(all.begin(), all.begin() + static_cast<long>(n)));
    };
    out.streams.push_back(std::move(stream));
  }
  return out;
}

TEST(LiveJob, GoesOnFromWhereverItsJournalsWereReread) {
  int went_on = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const event::JobStreams streams = with_world_size(told(seed));
    const JobResult whole = attribute_job(streams, {});
    std::mt19937_64 rng(seed);
    // Somewhere in the first attempt, somewhere in the second, or at the very end.
    const auto upto = static_cast<std::int64_t>(rng() % 3);
    std::vector<std::size_t> lengths;
    std::vector<std::vector<event::Event>> all;
    for (const event::Stream& stream : streams.streams) {
      const auto source = stream.open();
      const auto events = source->next();
      all.emplace_back(events.begin(), events.end());
      const std::size_t size = events.size();
      lengths.push_back(stream.info.attempt <= upto       ? size
                        : stream.info.attempt == upto + 1 ? 1 + rng() % size
                                                          : 0);
    }
    LiveJob live("j", streams.names);
    live.reread(first_of(streams, lengths));
    ASSERT_FALSE(live.must_reread());
    for (std::int64_t attempt = 1; attempt <= 2; ++attempt) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (streams.streams[i].info.attempt != attempt) continue;
        live.consume(streams.streams[i].info, std::span(all[i]).subspan(lengths[i]));
      }
    }
    went_on += live.must_reread() ? 0 : 1;
    if (live.must_reread()) live.reread(streams);
    ASSERT_FALSE(live.must_reread());
    const JobResult told_live = live.snapshot(std::nullopt);
    EXPECT_EQ(told_live.ledger.total(), whole.ledger.total());
    EXPECT_EQ(told_live.unsaved_ns, whole.unsaved_ns);
    EXPECT_EQ(told_live.attempts.back().steps, whole.attempts.back().steps);
  }
  EXPECT_GT(went_on, 50);  // else this is a test of reread() alone
}

TEST(LiveJob, TwoJournalsOfOneRankAreMergedByAReread) {
  Story s;
  s.mark(0, HW_MARK_LAUNCHER_START).steps(1, 1, 1, 5);
  event::JobStreams streams = s.streams();
  ASSERT_EQ(streams.streams.size(), 1u);
  event::Stream second = streams.streams.front();
  streams.streams.front().info.origin = "a";
  second.info.origin = "b";
  LiveJob live("j", streams.names, {.use_steps = true});
  live.consume(streams.streams.front().info, streams.streams.front().open()->next());
  EXPECT_FALSE(live.must_reread());
  live.consume(second.info, second.open()->next());
  EXPECT_TRUE(live.must_reread());
}

TEST(LiveJob, AJobWithoutDataSaysWhatItNeeds) {
  auto names = std::make_shared<event::NameTable>();
  Story s;
  s.mark(0, HW_MARK_LAUNCHER_START).steps(1, 1, 1, 5);
  const event::JobStreams streams = s.streams();
  LiveJob live("j", names);
  live.consume(streams.streams[0].info, streams.streams[0].open()->next());
  ASSERT_TRUE(live.must_reread());
  ASSERT_TRUE(live.wanted().use_steps);
  LiveJob again("j", names, live.wanted());
  const auto source = streams.streams[0].open();
  again.consume(streams.streams[0].info, source->next());
  EXPECT_FALSE(again.must_reread());
  EXPECT_EQ(again.snapshot(std::nullopt).ledger.total(), attribute_job(streams, {}).ledger.total());
}

}  // namespace
}  // namespace headway::timeline
