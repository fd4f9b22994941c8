#include "ingest/shipper.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <set>

#include "base/hash.h"
#include "ingest/progress.h"
#include "record/test_util.h"

namespace headway::ingest {
namespace {

using event::EventType;
using event::Record;
using record::JournalBytes;
using ::testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

// A collector that keeps slots in memory, by the rules of docs/formats/ingest.md.
class SimCollector final : public net::Transport {
 public:
  net::Exchange send(const net::HttpRequest& request) override {
    ++requests;
    last = request;
    if (before) {
      if (auto exchange = before()) return *exchange;
    }
    net::Exchange exchange = take(request);
    if (after) after(exchange);
    return exchange;
  }

  std::function<std::optional<net::Exchange>()> before;
  std::function<void(net::Exchange&)> after;
  ProgressMap known;
  std::map<JournalId, std::vector<Record>> slots;
  net::HttpRequest last;
  int requests = 0;

 private:
  net::Exchange take(const net::HttpRequest& request) {
    net::Exchange exchange;
    auto batch = Batch::parse(request.body, "batch");
    const std::uint64_t attempt = std::stoull(request.url.substr(request.url.rfind('/') + 1));
    if (!batch.ok()) {
      exchange.answer.status = 400;
      return exchange;
    }
    std::vector<Record> unpacked;
    EXPECT_TRUE(unpack_slots(batch->packed, batch->header.slots, unpacked, "batch").ok());
    const Judgement judged = judge(*batch, "bytes", attempt, known);
    EXPECT_NE(judged.verdict, Verdict::nonsense) << judged.why;
    exchange.answer.status = judged.verdict == Verdict::gap ? 409 : 200;
    std::size_t at = 0;
    std::string places;
    for (const ChunkRecord& chunk : batch->chunks) {
      std::vector<Record>& have = slots[chunk.journal];
      for (std::uint32_t i = 0; i < chunk.slots && judged.verdict == Verdict::news; ++i) {
        if (chunk.first_slot + i == have.size()) have.push_back(unpacked[at + i]);
      }
      at += chunk.slots;
      places += fmt::format("{}{{\"id\":\"{}\",\"next\":{}}}", places.empty() ? "" : ",",
                            base::hex(chunk.journal), have.size());
    }
    exchange.answer.body = "{\"journals\":[" + places + "]}";
    return exchange;
  }
};

net::Exchange answer(int status, const std::string& body = {}, net::Headers headers = {}) {
  net::Exchange exchange;
  exchange.answer.status = status;
  exchange.answer.body = body;
  exchange.answer.headers = std::move(headers);
  return exchange;
}

net::Exchange no_answer() {
  net::Exchange exchange;
  exchange.failure = net::Failure::connect;
  exchange.why = "nobody listens";
  return exchange;
}

// A job's folder with journals that grow.
class Job {
 public:
  JournalBytes& journal(std::uint64_t attempt, std::uint32_t rank) {
    const auto [it, fresh] = journals_.try_emplace({attempt, rank});
    if (fresh) {
      it->second.fixed.attempt = attempt;
      it->second.fixed.rank = rank;
      it->second.fixed.pid = static_cast<std::uint32_t>(::getpid());
      record::finish_header(it->second.fixed);
    }
    return it->second;
  }
  void steps(std::uint64_t attempt, std::uint32_t rank, std::size_t count) {
    JournalBytes& j = journal(attempt, rank);
    for (std::size_t i = 0; i < count; ++i) {
      j.add(EventType::step_end, j.anchor_ticks + 1000 * j.records.size(),
            static_cast<std::int64_t>(j.records.size()));
    }
    dir.write(fmt::format("{}/rank-{:05}.hwj", attempt, rank), j.bytes());
  }
  void expect_arrived(const SimCollector& collector) const {
    EXPECT_EQ(collector.slots.size(), journals_.size());
    for (const auto& [key, j] : journals_) {
      const auto found = collector.slots.find(journal_id(j.fixed));
      ASSERT_NE(found, collector.slots.end());
      ASSERT_EQ(found->second.size(), j.records.size()) << "rank " << key.second;
      EXPECT_EQ(
          std::memcmp(found->second.data(), j.records.data(), j.records.size() * sizeof(Record)),
          0);
      EXPECT_TRUE(collector.known.at(found->first).is_final());
    }
  }
  [[nodiscard]] ShipOptions options() const {
    return {{"http://collector", "secret"}, dir.path(), "bytes", true};
  }

  base::TempDir dir;

 private:
  std::map<std::pair<std::uint64_t, std::uint32_t>, JournalBytes> journals_;
};

// Rounds until all is told, at the times that they ask for. The time that it took.
std::int64_t ship_all(Shipper& shipper, std::int64_t now_ns = 0) {
  for (int i = 0; i < 100'000 && !shipper.done(); ++i) {
    now_ns += shipper.round(now_ns, now_ns, true).wait_ns;
  }
  EXPECT_TRUE(shipper.done());
  return now_ns;
}

TEST(Shipper, SendsAJobToItsEnd) {
  Job job;
  for (std::uint32_t rank = 0; rank < 3; ++rank) job.steps(1, rank, 50'000);
  job.steps(2, 0, 10);
  SimCollector collector;
  Shipper shipper(collector, job.options(), 1);
  ship_all(shipper);
  job.expect_arrived(collector);
  EXPECT_EQ(shipper.counts().slots, 150'010u);
  EXPECT_EQ(collector.last.url, "http://collector/api/v1/ingest/bytes/2");
  EXPECT_EQ(collector.last.headers.back().second, "Bearer secret");
}

TEST(Shipper, FollowsALiveJobAndGivesASignOfLife) {
  Job job;
  job.steps(1, 0, 10);
  SimCollector collector;
  Shipper shipper(collector, job.options(), 1);
  EXPECT_EQ(shipper.round(0, 0, false).wait_ns, Shipper::look_ns);
  EXPECT_EQ(collector.requests, 1);
  EXPECT_EQ(shipper.round(kSecond, 0, false).wait_ns, Shipper::look_ns);
  EXPECT_EQ(collector.requests, 1);  // nothing new
  job.steps(1, 0, 5);
  shipper.round(2 * kSecond, 0, false);
  EXPECT_EQ(collector.requests, 2);
  EXPECT_EQ(collector.slots.begin()->second.size(), 15u);
  shipper.round(5 * kSecond, 0, false);
  EXPECT_EQ(collector.requests, 2);
  shipper.round(20 * kSecond, 0, false);
  EXPECT_EQ(collector.requests, 3);
  EXPECT_FALSE(shipper.done());
}

TEST(Shipper, LooksMoreOftenUntilAFirstBatchWasTaken) {
  Job job;
  SimCollector collector;
  Shipper shipper(collector, job.options(), 1);
  EXPECT_EQ(shipper.round(0, 0, false).wait_ns, Shipper::first_look_ns);
  EXPECT_EQ(shipper.round(kSecond, 0, false).wait_ns, Shipper::first_look_ns);
  job.steps(1, 0, 10);
  collector.before = [] { return answer(503); };
  EXPECT_GE(shipper.round(2 * kSecond, 0, false).wait_ns, Shipper::first_look_ns);
  collector.before = nullptr;
  EXPECT_EQ(shipper.round(3 * kSecond, 0, false).wait_ns, Shipper::look_ns);
  EXPECT_EQ(shipper.round(4 * kSecond, 0, false).wait_ns, Shipper::look_ns);
  EXPECT_EQ(collector.slots.size(), 1u);
}

TEST(Shipper, AnotherOneGoesOnWhereTheFirstWasKilled) {
  Job job;
  job.steps(1, 0, 100'000);
  SimCollector collector;
  {
    Shipper first(collector, job.options(), 1);
    first.round(0, 0, false);
    first.round(0, 0, false);
  }
  const std::size_t before = collector.slots.begin()->second.size();
  EXPECT_GT(before, 0u);
  Shipper second(collector, job.options(), 2);
  ship_all(second);
  job.expect_arrived(collector);
}

TEST(Shipper, ACollectorThatIsAwayIsToldOnceAndTriedEverLessOften) {
  Job job;
  job.steps(1, 0, 10);
  SimCollector collector;
  collector.before = [] { return no_answer(); };
  Shipper shipper(collector, job.options(), 1);
  std::int64_t now_ns = 0;
  const Shipper::Round first = shipper.round(now_ns, 0, false);
  EXPECT_THAT(first.note, HasSubstr("nobody listens; they wait in " + job.dir.path()));
  for (int i = 0; i < 50; ++i) {
    const Shipper::Round round = shipper.round(now_ns, 0, false);
    EXPECT_EQ(round.note, "");
    EXPECT_GT(round.wait_ns, 0);
    EXPECT_LE(round.wait_ns, Shipper::longest_wait_ns);
    now_ns += round.wait_ns;
  }
  EXPECT_GT(now_ns, 300 * kSecond);
  collector.before = nullptr;
  EXPECT_THAT(shipper.round(now_ns, 0, false).note, HasSubstr("has taken what had waited"));
  ship_all(shipper, now_ns);
  job.expect_arrived(collector);
}

TEST(Shipper, WaitsAsLongAsItIsAskedTo) {
  Job job;
  job.steps(1, 0, 10);
  SimCollector collector;
  collector.before = [] { return answer(503, R"({"error":"busy"})", {{"retry-after", "30"}}); };
  std::set<std::int64_t> waits;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Shipper shipper(collector, job.options(), seed);
    const Shipper::Round round = shipper.round(0, 0, false);
    EXPECT_GE(round.wait_ns, 30 * kSecond);
    EXPECT_THAT(round.note, HasSubstr("busy (status 503)"));
    waits.insert(round.wait_ns);
  }
  EXPECT_GT(waits.size(), 4u);  // not all at the same time
}

TEST(Shipper, WhatIsRefusedIsToldAndNotSentAgain) {
  Job job;
  job.steps(1, 0, 10);
  SimCollector collector;
  collector.before = [] { return answer(400, R"({"error":"head 0: bad\nthing"})"); };
  Shipper shipper(collector, job.options(), 1);
  EXPECT_THAT(shipper.round(0, 0, true).note, HasSubstr("head 0: bad thing (status 400)"));
  shipper.round(0, 0, true);
  EXPECT_EQ(collector.requests, 1);
  EXPECT_TRUE(shipper.done());
  EXPECT_EQ(shipper.counts().refused_journals, 1u);
}

// Whatever says no to a batch with one of them in it: the others arrive, and the rest of the job.
TEST(Shipper, OnlyTheJournalThatIsRefusedIsLeftOut) {
  for (const std::uint32_t bad : {0u, 6u, 12u}) {
    SCOPED_TRACE(bad);
    Job job;
    for (std::uint32_t rank = 0; rank < 13; ++rank) job.steps(1, rank, 100);
    job.steps(2, 0, 10);
    const JournalId refused = journal_id(job.journal(1, bad).fixed);
    SimCollector collector;
    collector.before = [&]() -> std::optional<net::Exchange> {
      auto batch = Batch::parse(collector.last.body, "batch");
      const bool has = std::ranges::any_of(
          batch->chunks, [&](const ChunkRecord& chunk) { return chunk.journal == refused; });
      return has ? std::optional(answer(400, R"({"error":"goes on after its end"})"))
                 : std::nullopt;
    };
    Shipper shipper(collector, job.options(), 1);
    std::vector<std::string> notes;
    for (int i = 0; i < 1000 && !shipper.done(); ++i) {
      const Shipper::Round round = shipper.round(i, 0, true);
      if (!round.note.empty()) notes.push_back(round.note);
    }
    ASSERT_TRUE(shipper.done());
    EXPECT_EQ(shipper.counts().refused_journals, 1u);
    EXPECT_EQ(collector.slots.size(), 13u);
    EXPECT_FALSE(collector.slots.contains(refused));
    EXPECT_EQ(shipper.counts().slots, 1210u);
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_THAT(notes[0], HasSubstr(fmt::format("rank-{:05}.hwj: goes on after its end", bad)));
    EXPECT_LT(collector.requests, 40);
  }
}

TEST(Shipper, ATokenThatIsRefusedIsNotTriedAllTheTime) {
  Job job;
  job.steps(1, 0, 10);
  SimCollector collector;
  collector.before = [] { return answer(401, R"({"error":"no such token"})"); };
  Shipper shipper(collector, job.options(), 1);
  const Shipper::Round round = shipper.round(0, 0, false);
  EXPECT_THAT(round.note, HasSubstr("HEADWAY_TOKEN"));
  // One token is that of a whole fleet: its machines do not come back together.
  std::set<std::int64_t> waits;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Shipper one(collector, job.options(), seed);
    waits.insert(one.round(0, 0, false).wait_ns);
  }
  EXPECT_GE(*waits.begin(), Shipper::longest_wait_ns / 2);
  EXPECT_LE(*waits.rbegin(), Shipper::longest_wait_ns);
  EXPECT_GT(*waits.rbegin() - *waits.begin(), Shipper::longest_wait_ns / 3);
  EXPECT_GT(waits.size(), 90u);
}

// Answers that are lost, refused, spoilt, a collector that has forgotten the newest slots or
// everything (a back-up was put back), shippers that are killed, journals that grow meanwhile.
TEST(Shipper, AnyFaultsLoseAndRepeatNothing) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 random(seed);
    Job job;
    SimCollector collector;
    collector.before = [&]() -> std::optional<net::Exchange> {
      switch (random() % 10) {
        case 0:
          return no_answer();
        case 1:
          return answer(503, {}, {{"retry-after", "1"}});
        case 2:
          return answer(500, "<html>");
        case 3:
          if (!collector.slots.empty() && random() % 3 == 0) {
            auto each = collector.slots.begin();
            std::advance(each, random() % collector.slots.size());
            const auto known = collector.known.find(each->first);
            if (known == collector.known.end() || known->second.is_final()) return {};
            each->second.resize(each->second.size() / 2);
            known->second.next_slot = each->second.size();
          }
          return {};
        default:
          return {};
      }
    };
    collector.after = [&](net::Exchange& exchange) {
      if (random() % 8 == 0) exchange = no_answer();
      if (random() % 16 == 0) exchange.answer.body = "{\"journals\":[{\"id\":7}";
    };
    auto shipper = std::make_unique<Shipper>(collector, job.options(), seed);
    std::int64_t now_ns = 0;
    for (int i = 0; i < 60; ++i) {
      job.steps(1 + random() % 3, random() % 4, random() % 3000);
      now_ns += shipper->round(now_ns, now_ns, false).wait_ns;
      if (random() % 10 == 0) {
        shipper = std::make_unique<Shipper>(collector, job.options(), random());
      }
    }
    ship_all(*shipper, now_ns);
    job.expect_arrived(collector);
  }
}

}  // namespace
}  // namespace headway::ingest
