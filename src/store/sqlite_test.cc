// What is SQLite's alone: its file, and what may become of it.
#include "store/sqlite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <random>

#include "base/crc32c.h"
#include "store/blob.h"
#include "store/sqlite_schema.h"
#include "store/sqlite_store.h"
#include "store/test_util.h"

namespace headway::store {
namespace {

using ingest::Verdict;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Sqlite : public ::testing::Test {
 protected:
  std::unique_ptr<Store> open() {
    auto store = open_sqlite({path_});
    EXPECT_TRUE(store.ok()) << store.status().message();
    return store.ok() ? std::move(*store) : nullptr;
  }
  base::TempDir dir_;
  std::string path_ = dir_.path() + "/store.db";
};

TEST_F(Sqlite, ASecondCollectorIsRefused) {
  const auto store = open();
  const auto second = open_sqlite({path_});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.status().message(), HasSubstr("another collector has this store"));
  EXPECT_TRUE(open_sqlite({path_, Purpose::look}).ok());  // a tool that only looks
}

TEST_F(Sqlite, WhoOnlyLooksMakesAndChangesNothing) {
  const auto nothing = open_sqlite({path_, Purpose::look});
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.status().code(), base::Code::not_found);
  EXPECT_THAT(nothing.status().message(), HasSubstr("there is no store"));
  EXPECT_FALSE(std::filesystem::exists(path_));
  record::write_bytes(path_, "");
  const auto empty = open_sqlite({path_, Purpose::look});
  ASSERT_FALSE(empty.ok());
  EXPECT_THAT(empty.status().message(), HasSubstr("holds no store of Headway"));
  const auto version = [&] {
    auto db = Connection::open(path_, Connection::Mode::read);
    Statement ask = (*db)->prepare("PRAGMA user_version");
    EXPECT_TRUE(ask.step().ok());
    return ask.integer(0);
  };
  {  // which an older collector may be using
    auto db = Connection::open(path_, Connection::Mode::write);
    ASSERT_TRUE((*db)->run(kSchemaSteps[0]).ok());
    ASSERT_TRUE((*db)->run("PRAGMA user_version=1").ok());
  }
  for (const Purpose purpose : {Purpose::look, Purpose::change}) {
    auto store = open_sqlite({path_, purpose});
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_THAT((*store)->check().value(), IsEmpty());
    EXPECT_THAT((*store)->tokens().value(), IsEmpty());
    EXPECT_EQ(version(), 1);
  }
  open();
  EXPECT_EQ(version(), static_cast<std::int64_t>(kSchemaSteps.size()));
}

TEST_F(Sqlite, AMissingCounterIsDamageAndNotTheEnd) {
  const auto store = open();
  Sender sender(0);
  auto first = append_one(*store, sender.batch(0, 5));
  ASSERT_TRUE(first.ok());
  auto db = Connection::open(path_, Connection::Mode::write);
  ASSERT_TRUE((*db)->run("DELETE FROM counter").ok());
  const auto out = append_one(*store, sender.batch(5, 5));
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.status().code(), base::Code::corrupt);
  EXPECT_THAT(out.status().message(), HasSubstr("the table counter has not one row"));
  const auto put = store->put_facts(std::vector<FactPut>{{first->job, 1, 1, {}}});
  EXPECT_EQ(put.code(), base::Code::corrupt);
  EXPECT_THAT(store->check().value(), ::testing::ElementsAre(HasSubstr("counter")));
  ASSERT_TRUE((*db)->run("INSERT INTO counter VALUES(0, 0)").ok());
  EXPECT_THAT(store->check().value(), ::testing::ElementsAre(HasSubstr("larger numbers")));
  ASSERT_TRUE((*db)->run("UPDATE counter SET seq=1").ok());
  EXPECT_EQ(append_one(*store, sender.batch(5, 5))->judgement.verdict, Verdict::news);
  EXPECT_THAT(store->check().value(), IsEmpty());
}

TEST_F(Sqlite, ANewerSchemaIsRefused) {
  open();
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA user_version=99", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  const auto store = open_sqlite({path_});
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.status().message(), HasSubstr("schema version 99"));
}

// What is out there was made by these very bytes.
TEST(SqliteSchema, AReleasedStepNeverChanges) {
  constexpr std::array<std::uint32_t, 2> released = {849956935u, 1160933028u};
  ASSERT_LE(released.size(), kSchemaSteps.size());
  for (std::size_t i = 0; i < released.size(); ++i) {
    const std::string_view text = kSchemaSteps[i];
    EXPECT_EQ(base::crc32c(text.data(), text.size()), released[i]) << "step " << i + 1;
  }
}

TEST_F(Sqlite, AStoreOfTheFirstVersionIsTakenOver) {
  Sender sender(0);
  const auto first = sender.batch(0, 10);
  auto parsed = ingest::Batch::parse(first, "batch");
  ASSERT_TRUE(parsed.ok());
  {
    auto db = Connection::open(path_, Connection::Mode::write);
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE((*db)->run(kSchemaSteps[0]).ok());
    ASSERT_TRUE((*db)
                    ->run("INSERT INTO job VALUES(3, 't', 'job', 5, 6);"
                          "PRAGMA user_version=1")
                    .ok());
    Statement journal = (*db)->prepare("INSERT INTO journal VALUES(3, ?, 1, ?, 10, ?, ?)");
    const auto id = sender.id();
    ASSERT_TRUE(journal.bind(1, bytes_of(id))
                    .bind(2, static_cast<std::int64_t>(sender.journal.fixed.slots_max))
                    .bind(3, bytes_of(parsed->chunks[0]))
                    .bind(4, bytes_of(parsed->heads[0]))
                    .run()
                    .ok());
    Statement batch = (*db)->prepare("INSERT INTO batch VALUES(41, 3, 1, 6, ?)");
    ASSERT_TRUE(batch.bind(1, std::span(first)).run().ok());
  }
  for (int opened = 0; opened < 2; ++opened) {
    const auto store = open();
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(append_one(*store, first)->judgement.verdict, Verdict::duplicate);
  }
  const auto store = open();
  EXPECT_EQ(store->newest_seq(3).value(), 41);
  auto next = append_one(*store, sender.batch(10, 5));
  EXPECT_EQ(next->judgement.verdict, Verdict::news);
  EXPECT_EQ(next->seq, 42);
  EXPECT_TRUE(store->put_facts(std::vector<FactPut>{{3, 1, 42, {}}}).ok());
  EXPECT_TRUE(store->put_alert({0, "t", "key", "{}", 1}, "").ok());
  EXPECT_THAT(store->check().value(), IsEmpty());
}

TEST_F(Sqlite, WhatIsNoDatabaseIsLeftAlone) {
  record::write_bytes(path_, std::string(5000, 'x'));
  const auto store = open_sqlite({path_});
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.status().message(), HasSubstr("not a database"));
  EXPECT_EQ(std::filesystem::file_size(path_), 5000u);
}

TEST_F(Sqlite, DamageIsFoundByACheck) {
  {
    const auto store = open();
    Sender sender(0);
    for (std::uint64_t i = 0; i < 200; ++i) {
      ASSERT_EQ(append_one(*store, sender.batch(i * 50, 50))->judgement.verdict, Verdict::news);
    }
    EXPECT_THAT(store->check().value(), IsEmpty());
  }
  const auto size = std::filesystem::file_size(path_);
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  for (std::uintmax_t at = 4096 * 2 + 1; at + 64 < size; at += 4096) {
    file.seekp(static_cast<std::streamoff>(at));
    file.write(std::string(64, '\xee').data(), 64);
  }
  file.close();
  auto store = open_sqlite({path_});
  if (!store.ok()) {  // damage in the schema shows at once
    EXPECT_EQ(store.status().code(), base::Code::corrupt) << store.status().message();
    return;
  }
  EXPECT_THAT((*store)->check().value(), Not(IsEmpty()));
}

// A disk that takes no more: what is said to be kept is kept, what is refused leaves no trace, and
// all goes on when there is room again.
TEST_F(Sqlite, AFullDiskLosesNothing) {
  const int status = record::in_child([&]() -> int {
    ::signal(SIGXFSZ, SIG_IGN);
    auto store = open_sqlite({path_});
    if (!store.ok()) return 1;
    Sender sender(0);
    std::uint64_t at = 0;
    const auto add = [&] {
      auto out = append_one(**store, sender.batch(at, 500));
      if (out.ok()) at += 500;
      return out.ok();
    };
    for (int i = 0; i < 20; ++i) {
      if (!add()) return 2;
    }
    const auto size = std::filesystem::file_size(path_ + "-wal");
    const rlimit small{size + 30'000, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) return 3;
    int refused = 0;
    for (int i = 0; i < 200; ++i) refused += add() ? 0 : 1;
    if (refused == 0) return 4;
    const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_FSIZE, &none) != 0) return 5;
    for (int i = 0; i < 20; ++i) {
      if (!add()) return 6;
    }
    auto rows = (*store)->journals((*store)->jobs("", 1)->front().key);
    return rows->front().progress.next_slot == at && (*store)->check()->empty() ? 0 : 7;
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Killed at any moment: all that was acknowledged is there, once and in order.
TEST_F(Sqlite, KilledWriterLosesNothingThatItHadSaid) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::uint64_t acknowledged = 0;
  for (int round = 0; round < 12; ++round) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      auto store = open_sqlite({path_});
      if (!store.ok()) ::_exit(1);
      Sender sender(0);
      // Where the store is, as an answer tells a sender that begins anew.
      std::uint64_t at = append_one(**store, sender.batch(0, 1))->next.front().second;
      while (true) {
        auto out = append_one(**store, sender.batch(at, 37));
        if (!out.ok() || out->judgement.verdict != Verdict::news) ::_exit(2);
        at += 37;
        if (::write(pipe[1], &at, sizeof(at)) != sizeof(at)) ::_exit(3);
      }
    }
    ::close(pipe[1]);
    const int messages = 1 + static_cast<int>(random() % 40);
    std::uint64_t said = 0;
    for (int i = 0; i < messages && ::read(pipe[0], &said, sizeof(said)) == sizeof(said); ++i) {
      acknowledged = std::max(acknowledged, said);
    }
    ::usleep(static_cast<useconds_t>(random() % 3000));
    ::kill(child, SIGKILL);
    while (::read(pipe[0], &said, sizeof(said)) == sizeof(said)) {
      acknowledged = std::max(acknowledged, said);
    }
    ::close(pipe[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    const auto store = open();
    ASSERT_NE(store, nullptr);
    const JobRow job = store->jobs("", 1)->front();
    ingest::ProgressMap known;
    ASSERT_TRUE(store
                    ->batches(job.key, 1, 0,
                              [&](const BatchRow& row) {
                                auto batch = ingest::Batch::parse(row.bytes, "stored");
                                EXPECT_TRUE(batch.ok());
                                EXPECT_EQ(ingest::judge(*batch, "job", 1, known).verdict,
                                          Verdict::news);
                                return true;
                              })
                    .ok());
    const std::uint64_t stored = known.begin()->second.next_slot;
    EXPECT_GE(stored, acknowledged);
    EXPECT_EQ(stored, store->journals(job.key)->front().progress.next_slot);
    EXPECT_THAT(store->check().value(), IsEmpty());
  }
}

}  // namespace
}  // namespace headway::store
