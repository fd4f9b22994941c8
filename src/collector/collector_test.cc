// A collector on a real port with a real store, and real shippers: what it tells of a job is what a
// report on the job's own files says.
#include "collector/collector.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "base/clock.h"
#include "base/temp_dir.h"
#include "collector/odd_store.h"
#include "collector/test_job.h"
#include "fleet/fact.h"
#include "ingest/shipper.h"
#include "net/curl_transport.h"
#include "store/sqlite_store.h"

namespace headway::collector {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class CollectorTest : public ::testing::Test {
 protected:
  void start(CollectorOptions options = {}) {
    collector_.reset();
    options.jobs.reread_share = 0;  // as often as it takes
    options.audit = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      audit_.push_back(line);
    };
    auto store = store::open_sqlite({dir_.path() + "/store.db"});
    ASSERT_TRUE(store.ok()) << store.status().message();
    auto collector = Collector::start(std::move(options), std::move(*store));
    ASSERT_TRUE(collector.ok()) << collector.status().message();
    collector_ = std::move(*collector);
  }
  [[nodiscard]] std::string url() const {
    return fmt::format("http://127.0.0.1:{}", collector_->port());
  }
  net::HttpAnswer get(const std::string& path, const std::string& token = {}) {
    net::HttpRequest request;
    request.method = "GET";
    request.url = url() + path;
    if (!token.empty()) request.headers = {{"authorization", "Bearer " + token}};
    const net::Exchange exchange = transport_.send(request);
    EXPECT_EQ(exchange.failure, net::Failure::none) << exchange.why;
    return exchange.answer;
  }
  // All of a job's files, by a shipper that waits for nothing.
  ingest::ShipCounts ship(const TestJob& job, const std::string& token = {}) {
    ingest::Shipper shipper(transport_, {{url(), token}, job.dir(), job.name(), true}, 1);
    for (int i = 0; i < 10'000 && !shipper.done(); ++i) {
      shipper.round(i, base::real_ns(), true);
      if (shipper.counts().retries > 0) break;  // it was told to come later
    }
    return shipper.counts();
  }
  // Where two texts of JSON differ.
  static std::string difference(const std::string& told, const std::string& wanted) {
    return json::diff(json::parse(wanted), json::parse(told)).dump(1);
  }
  std::string add_token(store::Role role, const std::string& tenant) {
    auto store = store::open_sqlite({dir_.path() + "/store.db", store::Purpose::change});
    EXPECT_TRUE(store.ok());
    const std::string secret = draw_token();
    EXPECT_TRUE((*store)->add_token({0, tenant, role, "test", token_hash(secret), 0}).ok());
    EXPECT_TRUE(collector_->tend().ok());
    return secret;
  }

  base::TempDir dir_;
  std::mutex mutex_;
  std::vector<std::string> audit_;
  net::CurlTransport transport_{net::CurlOptions{}};
  std::unique_ptr<Collector> collector_;
};

TEST_F(CollectorTest, TellsWhatTheFilesSay) {
  start();
  TestJob job("train");
  job.attempt(1, 2, 40, true);
  job.attempt(2, 2, 60, false);
  const ingest::ShipCounts counts = ship(job);
  EXPECT_GT(counts.slots, 100u);
  const net::HttpAnswer answer = get("/api/v1/jobs/train/report");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(difference(answer.body, job.report()), "[]");
  collector_->settle();
  EXPECT_EQ(json::parse(get("/api/v1/jobs").body)["jobs"][0]["job"], "train");
  // Sent once more by one who knows nothing of it: nothing changes.
  ship(job);
  EXPECT_EQ(difference(get("/api/v1/jobs/train/report").body, job.report()), "[]");
  // And by a collector that has to read it all from its store.
  start();
  EXPECT_EQ(difference(get("/api/v1/jobs/train/report").body, job.report()), "[]");
}

TEST_F(CollectorTest, AnyOrderOfRanksAndAttemptsComesToTheSame) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    start();
    TestJob job(fmt::format("job{}", seed));
    job.attempt(1, 3, 30, true);
    job.attempt(2, 3, 30, true);
    job.attempt(3, 3, 30, false);
    std::mt19937 random(seed);
    job.post_in_any_order(random, [&](const std::string& path, const std::vector<std::byte>& body) {
      net::HttpRequest request;
      request.method = "POST";
      request.url = url() + path;
      request.body = body;
      const net::Exchange exchange = transport_.send(request);
      EXPECT_EQ(exchange.answer.status, 200) << exchange.answer.body;
      if (random() % 5 == 0) get(fmt::format("/api/v1/jobs/job{}/report", seed));
      if (random() % 20 == 0) start();
    });
    const net::HttpAnswer answer = get(fmt::format("/api/v1/jobs/job{}/report", seed));
    EXPECT_EQ(difference(answer.body, job.report()), "[]");
  }
}

TEST_F(CollectorTest, SaysHowManyAttemptsDetectionHadNoRoomFor) {
  CollectorOptions options;
  options.watcher.facts_bytes_max = 2 * sizeof(fleet::AttemptFacts);  // room for one
  start(std::move(options));
  TestJob job("train");
  job.attempt(1, 2, 40, true);
  job.attempt(2, 2, 60, false);
  ship(job);
  collector_->settle();
  collector_->look_for_regressions(2 * fleet::kDayNs);
  const json told = json::parse(get("/api/v1/regressions").body);
  EXPECT_EQ(told["attempts"], 1);
  EXPECT_EQ(told["attempts_left_out"], 1);
}

TEST_F(CollectorTest, RefusesWhatItShould) {
  start();
  EXPECT_EQ(get("/nothing.js").status, 404);
  EXPECT_EQ(get("/api/v1/jobs/../../etc/passwd").status, 404);
  EXPECT_EQ(get("/api/v1/jobs/nobody/report").status, 404);
  EXPECT_EQ(get("/api/v1/ingest/x/1").status, 405);
  EXPECT_EQ(get("/healthz").status, 200);
  net::HttpRequest request;
  request.method = "POST";
  request.url = url() + "/api/v1/ingest/x/1";
  const std::string junk = "junk";
  request.body = std::as_bytes(std::span(junk));
  const net::HttpAnswer answer = transport_.send(request).answer;
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("batch of x attempt 1: has 4 bytes"));
}

TEST_F(CollectorTest, TheHeadOfAStreamIsAllThatWasAskedFor) {
  start();
  net::HttpRequest request;
  request.method = "HEAD";
  request.url = url() + "/api/v1/events";
  EXPECT_EQ(transport_.send(request).answer.status, 200);
  EXPECT_THAT(get("/metrics").body, HasSubstr("headway_collector_live_readers 0\n"));
}

TEST_F(CollectorTest, TenantsDoNotSeeEachOther) {
  start();
  const std::string writes = add_token(store::Role::ingest, "blue");
  const std::string blue = add_token(store::Role::read, "blue");
  const std::string red = add_token(store::Role::read, "red");
  TestJob job("train");
  job.attempt(1, 1, 10, false);
  EXPECT_EQ(ship(job).slots, 0u);  // without a token
  EXPECT_EQ(ship(job, red).slots, 0u);
  EXPECT_GT(ship(job, writes).slots, 0u);
  EXPECT_EQ(get("/api/v1/jobs/train/report").status, 401);
  EXPECT_EQ(get("/api/v1/jobs/train/report", writes).status, 403);
  EXPECT_EQ(get("/api/v1/jobs/train/report", red).status, 404);
  EXPECT_EQ(get("/api/v1/jobs/train/report", blue).status, 200);
  EXPECT_TRUE(json::parse(get("/api/v1/jobs", red).body)["jobs"].empty());
  const std::lock_guard lock(mutex_);
  ASSERT_GE(audit_.size(), 4u);
  const auto refused = std::ranges::find_if(
      audit_, [](const std::string& each) { return json::parse(each)["status"] == 403; });
  ASSERT_NE(refused, audit_.end());
  const json line = json::parse(*refused);
  EXPECT_EQ(line["token"], "test");
  EXPECT_EQ(line["peer"], "127.0.0.1");
  for (const std::string& each : audit_) EXPECT_EQ(each.find(writes), std::string::npos);
}

TEST_F(CollectorTest, BeyondThisMachineATokenIsNeededFirst) {
  CollectorOptions options;
  options.server.address = "0.0.0.0";
  auto store = store::open_sqlite({dir_.path() + "/store.db"});
  ASSERT_TRUE(store.ok());
  const auto collector = Collector::start(std::move(options), std::move(*store));
  ASSERT_FALSE(collector.ok());
  EXPECT_THAT(collector.status().message(), HasSubstr("headway serve token add"));
  EXPECT_TRUE(is_loopback("127.0.0.53"));
  EXPECT_TRUE(is_loopback("::1"));
  EXPECT_FALSE(is_loopback("0.0.0.0"));
  EXPECT_FALSE(is_loopback("::"));
  EXPECT_FALSE(is_loopback("localhost"));
}

// Questions that wait when it is stopped are answered by what they ask: nothing of it is gone.
TEST_F(CollectorTest, StopsWhileQuestionsWait) {
  auto real = store::open_sqlite({dir_.path() + "/store.db"});
  ASSERT_TRUE(real.ok());
  auto odd = std::make_unique<OddStore>(**real);
  std::promise<void> begun, go_on;
  std::atomic<int> asked{0};
  const std::shared_future<void> gate = go_on.get_future().share();
  odd->before_alerts = [&] {
    if (asked++ == 0) begun.set_value();
    gate.wait();
  };
  CollectorOptions options;
  options.workers = 1;
  options.watcher.on = false;
  auto collector = Collector::start(std::move(options), std::move(odd));
  ASSERT_TRUE(collector.ok());
  std::vector<std::thread> clients;
  const std::uint16_t port = (*collector)->port();
  for (const char* path : {"/metrics", "/api/v1/regressions", "/metrics", "/api/v1/status"}) {
    clients.emplace_back([port, path] {
      net::CurlTransport client{net::CurlOptions{}};
      net::HttpRequest request;
      request.method = "GET";
      request.url = fmt::format("http://127.0.0.1:{}{}", port, path);
      (void)client.send(request);  // it may be cut off
    });
  }
  begun.get_future().wait();
  std::thread stopping([&] { (*collector)->stop(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // it is in the middle of it
  go_on.set_value();
  stopping.join();
  collector->reset();
  for (std::thread& client : clients) client.join();
  EXPECT_GE(asked, 1);
}

// Removing the last token lets nobody in, now and after a restart; streams end with their token.
TEST_F(CollectorTest, WithoutTheLastTokenItStaysClosed) {
  start();
  EXPECT_EQ(get("/api/v1/jobs").status, 200);
  const std::string secret = add_token(store::Role::read, "blue");
  EXPECT_EQ(get("/api/v1/jobs").status, 401);
  EXPECT_EQ(get("/api/v1/jobs", secret).status, 200);
  auto store = store::open_sqlite({dir_.path() + "/store.db", store::Purpose::change});
  ASSERT_TRUE(store.ok());
  EXPECT_TRUE((*store)->remove_token((*store)->tokens()->front().id).value());
  EXPECT_TRUE(collector_->tend().ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(get("/api/v1/jobs", secret).status, 401);
    EXPECT_THAT(get("/api/v1/jobs").body, HasSubstr("headway serve token add"));
    start();
  }
  EXPECT_EQ(get("/api/v1/jobs", add_token(store::Role::read, "blue")).status, 200);
}

TEST_F(CollectorTest, ManyShippersAtOnce) {
  start();
  std::vector<std::unique_ptr<TestJob>> jobs;
  for (int i = 0; i < 8; ++i) {
    jobs.push_back(std::make_unique<TestJob>(fmt::format("job{}", i)));
    jobs.back()->attempt(1, 2, 200, i % 2 == 0);
  }
  std::vector<std::thread> threads;
  std::atomic<bool> over{false};
  threads.emplace_back([&] {
    while (!over) {
      for (const auto& job : jobs) get(fmt::format("/api/v1/jobs/{}/report", job->name()));
    }
  });
  std::vector<std::thread> shippers;
  for (const auto& job : jobs) {
    shippers.emplace_back([&] { ship(*job); });
  }
  for (std::thread& shipper : shippers) shipper.join();
  over = true;
  threads.front().join();
  for (const auto& job : jobs) {
    const net::HttpAnswer answer = get(fmt::format("/api/v1/jobs/{}/report", job->name()));
    EXPECT_EQ(difference(answer.body, job->report()), "[]") << job->name();
  }
}

}  // namespace
}  // namespace headway::collector
