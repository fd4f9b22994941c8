#include "collector/otlp_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/clock.h"
#include "base/temp_dir.h"
#include "collector/intake.h"
#include "collector/test_job.h"
#include "store/sqlite_store.h"

namespace headway::collector {
namespace {

using otlp::Signal;
using ::testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

class Silence final : public net::Reply {
 public:
  void send(net::ServerAnswer answer) override { EXPECT_EQ(answer.status, 200) << answer.body; }
  std::shared_ptr<net::AnswerStream> stream(net::ServerAnswer) override { return nullptr; }
};

class Receiver final : public net::Transport {
 public:
  net::Exchange send(const net::HttpRequest& request) override {
    const std::string body(reinterpret_cast<const char*>(request.body.data()), request.body.size());
    net::Exchange out;
    out.answer.status = status;
    if (status == 200) (request.url.ends_with("/v1/traces") ? traces : metrics).push_back(body);
    return out;
  }
  [[nodiscard]] std::size_t spans_named(std::string_view name) const {
    std::size_t found = 0;
    for (const std::string& body : traces) {
      for (std::size_t at = body.find(name); at != body.npos; at = body.find(name, at + 1)) ++found;
    }
    return found;
  }
  std::vector<std::string> traces, metrics;
  int status = 200;
};

class OtlpRoundsTest : public ::testing::Test {
 protected:
  OtlpRoundsTest() {
    auto store = store::open_sqlite({dir_.path() + "/store.db"});
    EXPECT_TRUE(store.ok());
    store_ = std::move(*store);
    jobs_ = std::make_unique<Jobs>(*store_, JobsOptions{.reread_share = 0});
    intake_ = std::make_unique<Intake>(*store_, *jobs_, IntakeOptions{}, [](const std::string&) {});
    options_.endpoint = otlp::endpoint_of("http://127.0.0.1:4318", "").value();
    options_.version = "1.2";
  }
  void make_rounds() {
    rounds_ =
        std::make_unique<OtlpRounds>(*jobs_, receiver_, options_, [this] { return families_; }, 1);
  }
  void take_in(const TestJob& job) {
    std::mt19937 random(1);
    job.post_in_any_order(random, [&](const std::string& path, const std::vector<std::byte>& b) {
      const auto attempt = std::stoull(path.substr(path.rfind('/') + 1));
      std::string body(reinterpret_cast<const char*>(b.data()), b.size());
      intake_->offer({"t", job.name(), attempt, std::move(body), std::make_shared<Silence>()});
    });
    intake_->drain();
  }
  // So long, a second at a time, with news of the job every time.
  void go_on(int seconds, const std::string& job) {
    for (int i = 0; i < seconds; ++i) {
      rounds_->told({{"t", job, "finished"}});
      while (rounds_->step(now_ns_, base::real_ns()).wait_ns == 0) {
      }
      now_ns_ += kSecond;
    }
  }

  base::TempDir dir_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Jobs> jobs_;
  std::unique_ptr<Intake> intake_;
  Receiver receiver_;
  OtlpOptions options_;
  std::vector<TenantFamilies> families_;
  std::unique_ptr<OtlpRounds> rounds_;
  std::int64_t now_ns_ = 1000 * kSecond;
};

TEST_F(OtlpRoundsTest, AnAttemptIsSentOnceAndWhenItIsOver) {
  TestJob job("nightly");
  job.attempt(1, 2, 20, true);
  job.attempt(2, 2, 20, false);
  take_in(job);
  make_rounds();
  go_on(5, "nightly");
  EXPECT_EQ(receiver_.traces.size(), 0u) << "journals may still come in";
  go_on(30, "nightly");
  EXPECT_EQ(receiver_.spans_named("attempt 1"), 1u);
  EXPECT_EQ(receiver_.spans_named("attempt 2"), 1u);
  EXPECT_EQ(receiver_.spans_named("job nightly"), 1u);
  EXPECT_EQ(receiver_.spans_named("headway.failure.origin"), 1u);
  EXPECT_THAT(receiver_.traces[0], HasSubstr("headway.tenant"));
  EXPECT_GT(rounds_->counts().sent.of(Signal::traces).sent, 6u);
  // A job that goes on after all: what is new of it is sent, the rest not again.
  job.attempt(3, 2, 20, false);
  TestJob more("nightly");
  more.attempt(3, 2, 20, false);
  take_in(more);
  go_on(40, "nightly");
  EXPECT_EQ(receiver_.spans_named("attempt 1"), 1u);
  EXPECT_EQ(receiver_.spans_named("attempt 3"), 1u);
  EXPECT_EQ(receiver_.spans_named("job nightly"), 1u);
}

TEST_F(OtlpRoundsTest, WhatEndedLongBeforeIsNotSent) {
  TestJob job("old");
  job.attempt(1, 1, 20, false);
  take_in(job);
  options_.started_ns = base::real_ns();
  make_rounds();
  go_on(30, "old");
  EXPECT_EQ(receiver_.traces.size(), 0u);
}

TEST_F(OtlpRoundsTest, AtTheEndWhatIsOverIsSentAtOnce) {
  TestJob job("nightly");
  job.attempt(1, 1, 20, false);
  take_in(job);
  make_rounds();
  rounds_->told({{"t", "nightly", "finished"}});
  for (auto step = rounds_->step(now_ns_, base::real_ns(), true); step.wait_ns == 0;) {
    step = rounds_->step(now_ns_, base::real_ns());
  }
  EXPECT_EQ(receiver_.spans_named("attempt 1"), 1u);
  EXPECT_EQ(receiver_.spans_named("job nightly"), 1u);
}

TEST_F(OtlpRoundsTest, MetricsGoEverySoOftenAndAllTenantsTogether) {
  interchange::Families families;
  families.begin("headway_fleet_attempts", interchange::FamilyType::counter, "", "Attempts.");
  families.add({}, std::uint64_t{7});
  families_ = {{"tenant-a", families.all()}, {"tenant-b", families.all()}};
  make_rounds();
  go_on(61, "none");
  ASSERT_EQ(receiver_.metrics.size(), 3u);
  EXPECT_THAT(receiver_.metrics[0], HasSubstr("tenant-a"));
  EXPECT_THAT(receiver_.metrics[0], HasSubstr("tenant-b"));
  EXPECT_EQ(rounds_->counts().sent.of(Signal::metrics).sent, 6u);
}

TEST_F(OtlpRoundsTest, AReceiverThatIsAwayCostsSpansAndNothingElse) {
  receiver_.status = 503;
  TestJob job("nightly");
  job.attempt(1, 1, 20, false);
  take_in(job);
  make_rounds();
  go_on(40, "nightly");
  EXPECT_GT(rounds_->counts().sent.retries, 0u);
  EXPECT_EQ(rounds_->counts().waiting, 1u);
  std::vector<ToldJob> many;
  for (std::size_t i = 0; i < OtlpRounds::jobs_waiting_max + 10; ++i) {
    many.push_back({"t", "job-" + std::to_string(i), "running"});
  }
  rounds_->told(many);
  EXPECT_GE(rounds_->counts().jobs_dropped, 10u) << "what is noted is bounded";
  rounds_->give_up();
  EXPECT_GT(rounds_->counts().sent.of(Signal::traces).dropped, 0u);
  EXPECT_EQ(rounds_->counts().waiting, 0u);
}

// With its own thread, and nobody at the other end: it starts, is told of things, and ends.
TEST_F(OtlpRoundsTest, AThreadThatReachesNobodyEnds) {
  options_.endpoint = otlp::endpoint_of("http://127.0.0.1:1", "").value();
  std::atomic<int> notes = 0;
  OtlpExport exporter(
      *jobs_, options_, [this] { return families_; }, [&](const std::string&) { ++notes; });
  for (int i = 0; i < 100; ++i) exporter.told({{"t", "job-" + std::to_string(i), "running"}});
  EXPECT_EQ(exporter.counts().jobs_dropped, 0u);
}

}  // namespace
}  // namespace headway::collector
