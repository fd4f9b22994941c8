// Two collectors on one database: batches of a job come to either, in any order and more than once,
// and both tell what a report on the job's own files says.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "collector/collector.h"
#include "collector/test_job.h"
#include "net/curl_transport.h"
#include "store/postgres_server.h"
#include "store/postgres_store.h"

namespace headway::collector {
namespace {

using nlohmann::json;

class SharedStore : public ::testing::Test {
 protected:
  void SetUp() override {
    if (store::PostgresServer::programs().empty()) {
      GTEST_SKIP() << "no PostgreSQL server is installed here";
    }
    static int number = 0;
    database_ = "shared" + std::to_string(number++);
    for (std::size_t i = 0; i < 2; ++i) start(i);
  }
  void start(std::size_t which) {
    collectors_[which].reset();
    CollectorOptions options;
    options.jobs.reread_share = 0;  // as often as it takes
    auto store = store::open_postgres({store::PostgresServer::shared().url(database_)});
    ASSERT_TRUE(store.ok()) << store.status().message();
    auto collector = Collector::start(std::move(options), std::move(*store));
    ASSERT_TRUE(collector.ok()) << collector.status().message();
    collectors_[which] = std::move(*collector);
  }
  net::HttpAnswer ask(std::size_t which, const std::string& method, const std::string& path,
                      std::span<const std::byte> body = {}) {
    net::HttpRequest request;
    request.method = method;
    request.url = fmt::format("http://127.0.0.1:{}{}", collectors_[which]->port(), path);
    request.body = body;
    const net::Exchange exchange = transport_.send(request);
    EXPECT_EQ(exchange.failure, net::Failure::none) << exchange.why;
    return exchange.answer;
  }
  // Where what a collector tells differs from what the files say.
  std::string difference(std::size_t which, const TestJob& job) {
    const auto answer = ask(which, "GET", fmt::format("/api/v1/jobs/{}/report", job.name()));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json::diff(json::parse(job.report()), json::parse(answer.body)).dump(1);
  }

  std::string database_;
  net::CurlTransport transport_{net::CurlOptions{}};
  std::array<std::unique_ptr<Collector>, 2> collectors_;
};

TEST_F(SharedStore, EitherTakesAnyBatchAndBothTellTheSame) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 random(seed);
    TestJob job(fmt::format("job{}", seed));
    job.attempt(1, 3, 30, true);
    job.attempt(2, 3, 30, true);
    job.attempt(3, 3, 30, false);
    job.post_in_any_order(random, [&](const std::string& path, const std::vector<std::byte>& body) {
      const std::size_t to = random() % 2;
      EXPECT_EQ(ask(to, "POST", path, body).status, 200);
      if (random() % 4 == 0) {
        EXPECT_EQ(ask(1 - to, "POST", path, body).status, 200);
      }
      if (random() % 4 == 0) {
        const auto told = ask(random() % 2, "GET", fmt::format("/api/v1/jobs/job{}/report", seed));
        EXPECT_EQ(told.status, 200) << told.body;
      }
      if (random() % 60 == 0) start(random() % 2);
    });
    for (std::size_t which = 0; which < 2; ++which) {
      EXPECT_EQ(difference(which, job), "[]") << "collector " << which;
    }
  }
}

// All journals at once, by senders of their own, and people who look meanwhile.
TEST_F(SharedStore, ManySendersAtOnce) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    TestJob job(fmt::format("job{}", seed));
    job.attempt(1, 3, 60, true);
    job.attempt(2, 3, 60, false);
    using Post = std::pair<std::string, std::vector<std::byte>>;
    std::map<ingest::JournalId, std::vector<Post>> senders;
    std::mt19937 random(seed);
    job.post_in_any_order(random, [&](const std::string& path, const std::vector<std::byte>& body) {
      const auto batch = ingest::Batch::parse(body, "batch");
      senders[batch.value().chunks[0].journal].emplace_back(path, body);
    });
    std::atomic<bool> over{false};
    std::vector<std::thread> threads, lookers;
    for (std::size_t which = 0; which < 2; ++which) {
      lookers.emplace_back([&, which] {
        while (!over) ask(which, "GET", fmt::format("/api/v1/jobs/{}/report", job.name()));
      });
    }
    for (const auto& [journal, posts] : senders) {
      threads.emplace_back([&, own = std::mt19937(seed + threads.size())]() mutable {
        for (const auto& [path, body] : posts) {
          for (const std::size_t to : {own() % 2, own() % 2}) {
            EXPECT_EQ(ask(to, "POST", path, body).status, 200);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    over = true;
    for (std::thread& looker : lookers) looker.join();
    EXPECT_EQ(difference(0, job), "[]");
    EXPECT_EQ(difference(1, job), "[]");
  }
}

// One that heard the beginning and nothing more, and one that hears all the rest.
TEST_F(SharedStore, WhatOthersHeardIsKnown) {
  TestJob job("train");
  job.attempt(1, 2, 40, false);
  std::mt19937 random(5);
  int sent = 0;
  job.post_in_any_order(random, [&](const std::string& path, const std::vector<std::byte>& body) {
    const std::size_t to = sent++ < 4 ? 0 : 1;
    EXPECT_EQ(ask(to, "POST", path, body).status, 200);
    if (sent == 4) {
      EXPECT_EQ(ask(0, "GET", "/api/v1/jobs/train/report").status, 200);
    }
  });
  ASSERT_GT(sent, 8);
  EXPECT_EQ(difference(0, job), "[]");
  EXPECT_EQ(difference(1, job), "[]");
  // What both have written of it for the whole fleet.
  for (const auto& collector : collectors_) collector->settle();
  for (std::size_t which = 0; which < 2; ++which) {
    const json jobs = json::parse(ask(which, "GET", "/api/v1/jobs").body)["jobs"];
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(jobs[0]["wall_ns"], json::parse(job.report())["wall_ns"]);
  }
}

// One that gets no batch at all tells the fleet as the other does, and those who look at it are
// told that something is new.
TEST_F(SharedStore, OneThatHearsNothingIsUpToDate) {
  const base::UniqueFd stream(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(collectors_[1]->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(stream.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const std::string_view request = "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
  ASSERT_EQ(::send(stream.get(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<long>(request.size()));
  std::string heard;
  const auto hear_until = [&](std::string_view text) {
    char buffer[4096];
    while (heard.find(text) == std::string::npos) {
      const long n = ::read(stream.get(), buffer, sizeof(buffer));
      if (n <= 0) break;
      heard.append(buffer, static_cast<std::size_t>(n));
    }
    EXPECT_THAT(heard, ::testing::HasSubstr(text));
  };
  hear_until("connected");
  TestJob job("train");
  job.attempt(1, 2, 40, false);
  std::mt19937 random(7);
  job.post_in_any_order(random, [&](const std::string& path, const std::vector<std::byte>& body) {
    EXPECT_EQ(ask(0, "POST", path, body).status, 200);
  });
  collectors_[0]->settle();
  ASSERT_TRUE(collectors_[1]->tend().ok());
  for (const char* path : {"/api/v1/jobs", "/api/v1/fleet/rollup", "/api/v1/fleet/dimensions"}) {
    const json wanted = json::parse(ask(0, "GET", path).body);
    EXPECT_EQ(json::parse(ask(1, "GET", path).body), wanted) << path;
  }
  EXPECT_EQ(json::parse(ask(1, "GET", "/api/v1/jobs").body)["jobs"].size(), 1u);
  hear_until("event: fleet");
  EXPECT_THAT(heard,
              ::testing::HasSubstr("event: job\ndata: {\"job\":\"train\",\"state\":\"finished\"}"));
  // Nothing is new: nothing is told twice.
  const std::string before = heard;
  ASSERT_TRUE(collectors_[1]->tend().ok());
  char more[64];
  EXPECT_EQ(::recv(stream.get(), more, sizeof(more), MSG_DONTWAIT), -1);
}

}  // namespace
}  // namespace headway::collector
