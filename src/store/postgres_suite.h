// For tests of the PostgreSQL engine: a database for each of them on the server of this process.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "store/postgres_server.h"
#include "store/postgres_store.h"
#include "store/test_util.h"

namespace headway::store {

class Postgres : public ::testing::Test {
 protected:
  void SetUp() override {
    if (PostgresServer::programs().empty()) {
      GTEST_SKIP() << "no PostgreSQL server is installed here";
    }
    static int number = 0;
    database_ = "own" + std::to_string(number++);
    url_ = server().url(database_);
  }
  static PostgresServer& server() { return PostgresServer::shared(); }
  std::string sql(const std::string& statement) { return server().sql(database_, statement); }

  std::unique_ptr<Store> open(PostgresTimeouts timeouts = {}) {
    auto store = open_postgres({url_, timeouts});
    EXPECT_TRUE(store.ok()) << store.status().message();
    return store.ok() ? std::move(*store) : nullptr;
  }
  static std::string failure(const std::string& url, PostgresTimeouts timeouts = {}) {
    const auto store = open_postgres({url, timeouts});
    EXPECT_FALSE(store.ok()) << url;
    const std::string& text = store.status().message();
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("\n")));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("s3cret")));
    return text;
  }
  // All batches of a job, each news after those before it. How many slots they are.
  static std::uint64_t slots_of(Store& store, const std::string& name = "job") {
    auto job = store.find_job("t", name);
    EXPECT_TRUE(job.ok() && job->has_value());
    if (!job.ok() || !job->has_value()) return 0;
    ingest::ProgressMap known;
    std::int64_t last = 0;
    const base::Status status =
        store.batches(job->value().key, std::nullopt, 0, [&](const BatchRow& row) {
          EXPECT_GT(row.seq, last);
          last = row.seq;
          auto batch = ingest::Batch::parse(row.bytes, "stored");
          EXPECT_EQ(ingest::judge(*batch, name, row.attempt, known).verdict, ingest::Verdict::news);
          return true;
        });
    EXPECT_TRUE(status.ok()) << status.message();
    std::uint64_t slots = 0;
    for (const auto& [id, progress] : known) slots += progress.next_slot;
    return slots;
  }

  std::string database_, url_;
};

}  // namespace headway::store
