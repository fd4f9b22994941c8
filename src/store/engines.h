// For tests of what every engine promises: the engines, and a store of each.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "store/postgres_server.h"
#include "store/postgres_store.h"
#include "store/sqlite_store.h"
#include "store/test_util.h"

namespace headway::store {

struct Engine {
  const char* name;
  // The store that belongs to a folder, as it was when it was last closed.
  std::function<base::Result<std::unique_ptr<Store>>(const std::string& dir)> open;
  bool copies;  // itself into a file
};
inline void PrintTo(const Engine& engine, std::ostream* out) {
  *out << engine.name;
}

inline std::vector<Engine> engines() {
  const auto sqlite = [](const std::string& dir) { return open_sqlite({dir + "/store.db"}); };
  const auto postgres = [](const std::string& dir) {
    std::string database = "t";
    for (const char c : dir) database += std::isalnum(c) != 0 ? std::string(1, c) : "_";
    return open_postgres({PostgresServer::shared().url(database)});
  };
  return {{"sqlite", sqlite, true}, {"postgres", postgres, false}};
}

class StoreTest : public ::testing::TestWithParam<Engine> {
 protected:
  void SetUp() override {
    if (std::string(GetParam().name) == "postgres" && PostgresServer::programs().empty()) {
      GTEST_SKIP() << "no PostgreSQL server is installed here";
    }
    reopen();
  }
  void reopen() {
    store_.reset();
    auto store = GetParam().open(dir_.path());
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = std::move(*store);
  }
  ingest::Verdict verdict(const std::vector<std::byte>& bytes) {
    auto out = append_one(*store_, bytes);
    EXPECT_TRUE(out.ok()) << out.status().message();
    return out->judgement.verdict;
  }
  std::vector<std::vector<std::byte>> stored(JobKey job, std::uint64_t attempt = 1,
                                             std::int64_t after = 0) {
    std::vector<std::vector<std::byte>> out;
    std::int64_t last = after;
    const base::Status status = store_->batches(job, attempt, after, [&](const BatchRow& row) {
      EXPECT_GT(row.seq, last);
      last = row.seq;
      out.push_back(row.bytes);
      return true;
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return out;
  }

  base::TempDir dir_;
  std::unique_ptr<Store> store_;
};

}  // namespace headway::store
