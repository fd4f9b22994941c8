// What is PostgreSQL's alone: what may become of a server, and of connections to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <random>
#include <sstream>
#include <thread>

#include "base/crc32c.h"
#include "store/postgres_migrate.h"
#include "store/postgres_suite.h"

namespace headway::store {
namespace {

using ingest::Verdict;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(Postgres, WhatIsWrongIsToldInOneLine) {
  EXPECT_THAT(failure("postgres://u:s3cret@127.0.0.1:1/d"),
              AllOf(HasSubstr("postgres://u@127.0.0.1:1/d"), HasSubstr("Connection refused")));
  EXPECT_THAT(failure("postgres://u:s3cret@127.0.0.1:1,127.0.0.1:2/d"),
              AllOf(HasSubstr("127.0.0.1:1: "), HasSubstr("127.0.0.1:2: ")));
  EXPECT_THAT(failure(server().url_of("nowhere", "headway:s3cret")),
              HasSubstr("has no database nowhere; make it with `createdb -O headway nowhere`"));
  EXPECT_THAT(failure(server().url_of(database_, "nobody:s3cret")), HasSubstr("nobody"));
  sql("CREATE ROLE locked LOGIN PASSWORD 'right'");
  EXPECT_THAT(failure(server().url_of(database_, "locked:s3cret")),
              HasSubstr("wrong password for user locked"));
  EXPECT_THAT(failure(server().url_of(database_, "locked")), HasSubstr("wants a password"));
  EXPECT_THAT(failure(server().url_of(database_, "locked:right")),
              AllOf(HasSubstr("permission denied"), HasSubstr("let user locked own the database"),
                    Not(HasSubstr("right"))));
  sql("ALTER DATABASE " + database_ + " OWNER TO locked");
  EXPECT_TRUE(open_postgres({server().url_of(database_, "locked:right")}).ok());
  sql("DROP OWNED BY locked; REASSIGN OWNED BY locked TO headway");
  sql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
  EXPECT_THAT(failure(server().url_of("latin")), HasSubstr("createdb -E UTF8"));
}

TEST_F(Postgres, ANewerSchemaIsRefused) {
  open();
  sql("INSERT INTO headway.schema_version VALUES(99)");
  EXPECT_THAT(failure(url_), HasSubstr("schema version 99"));
}

TEST_F(Postgres, WhoOnlyLooksMakesNothing) {
  const auto store = open_postgres({.url = url_, .purpose = Purpose::look});
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), base::Code::not_found);
  EXPECT_THAT(store.status().message(), HasSubstr("holds no store of Headway"));
  EXPECT_EQ(sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'headway'"), "0");
  open();
  EXPECT_TRUE(open_postgres({.url = url_, .purpose = Purpose::look}).ok());
}

// What is out there was made by these very bytes.
TEST(PostgresSchema, AReleasedStepNeverChanges) {
  constexpr std::array<std::uint32_t, 1> released = {1237616010u};
  ASSERT_LE(released.size(), kPostgresSteps.size());
  for (std::size_t i = 0; i < released.size(); ++i) {
    const std::string_view text = kPostgresSteps[i];
    EXPECT_EQ(base::crc32c(text.data(), text.size()), released[i]) << "step " << i + 1;
  }
}

// A database of the first version with a job in it, brought to a second one by several at once
// while somebody of the first uses it.
TEST_F(Postgres, AnOlderDatabaseIsBroughtForwardOnceBySeveral) {
  const char* kSecond =
      "ALTER TABLE job ADD COLUMN note text NOT NULL DEFAULT 'none';"
      "CREATE TABLE second(n bigint); INSERT INTO second VALUES(1);";
  const std::array<const char*, 2> steps = {kPostgresSteps[0], kSecond};
  auto address = PostgresAddress::parse(url_);
  const auto migrate = [&](Purpose purpose, std::span<const char* const> to) {
    auto db = PostgresConnection::open(*address, {});
    EXPECT_TRUE(db.ok());
    return migrate_postgres(**db, purpose, to);
  };
  ASSERT_TRUE(migrate(Purpose::collect, std::span(steps).first(1)).ok());
  const auto older = open();
  Sender sender(0);
  ASSERT_TRUE(append_one(*older, sender.batch(0, 5)).ok());
  // Tools that are newer leave it to the collectors.
  ASSERT_TRUE(migrate(Purpose::look, steps).ok());
  ASSERT_TRUE(migrate(Purpose::change, steps).ok());
  EXPECT_EQ(sql("SELECT max(version) FROM headway.schema_version"), "1");
  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (std::uint64_t at = 5; !over || at < 50; at += 5) {
      auto out = append_one(*older, sender.batch(at, 5));
      EXPECT_TRUE(out.ok()) << out.status().message();
    }
  });
  std::vector<std::thread> newer;
  for (int i = 0; i < 4; ++i) {
    newer.emplace_back([&] {
      const base::Status status = migrate(Purpose::collect, steps);
      EXPECT_TRUE(status.ok()) << status.message();
    });
  }
  for (std::thread& each : newer) each.join();
  over = true;
  writer.join();
  EXPECT_EQ(
      sql("SELECT string_agg(version::text, ' ' ORDER BY version) FROM headway.schema_version"),
      "1 2");
  EXPECT_EQ(sql("SELECT count(*) FROM headway.second"), "1");
  EXPECT_EQ(sql("SELECT note FROM headway.job"), "none");
  EXPECT_GE(slots_of(*older), 50u);
  EXPECT_THAT(older->check().value(), IsEmpty());
  // Who comes later and is older is told so.
  EXPECT_THAT(failure(url_), HasSubstr("schema version 2; this build knows up to 1"));
}

TEST_F(Postgres, ManyOpenAnEmptyDatabaseAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { open(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sql("SELECT count(*) FROM headway.schema_version"), "1");
}

TEST_F(Postgres, ACommitIsOnTheDiskWhateverTheServerIsToldOtherwise) {
  auto address = PostgresAddress::parse(url_);
  const auto setting = [&] {
    auto db = PostgresConnection::open(*address, {});
    return db.value()->ask("SELECT current_setting('synchronous_commit')")->text(0, 0);
  };
  for (const auto& [given, wanted] :
       {std::pair("off", "on"), {"local", "on"}, {"remote_apply", "remote_apply"}}) {
    sql("ALTER DATABASE " + database_ + " SET synchronous_commit = " + given);
    EXPECT_EQ(setting(), wanted) << given;
  }
}

// Two collectors, many senders that send everything to both, several jobs in a transaction in any
// order: all of it is kept once, and whoever has seen a batch of a job has seen all before it.
// Connections that are cut at any moment: senders ask again, and all is there once.
TEST_F(Postgres, ConnectionsThatAreCutCostNothing) {
  const auto store = open();
  std::atomic<bool> over{false};
  std::thread cutter([&] {
    std::mt19937 random(7);
    while (!over) {
      sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = "
          "'headway' AND datname = '" +
          database_ + "'");
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
    }
  });
  int errors = 0;
  std::uint64_t kept = 0;
  Sender sender(0);
  for (std::uint64_t at = 0; at < 600; at += 15) {
    const auto bytes = sender.batch(at, 15);
    while (true) {
      auto out = append_one(*store, bytes);
      if (out.ok()) {
        EXPECT_EQ(out->next[0].second, at + 15);
        kept += out->judgement.verdict == Verdict::news ? 1 : 0;
        break;
      }
      ++errors;
    }
  }
  over = true;
  cutter.join();
  RecordProperty("errors", errors);
  EXPECT_LE(kept, 40u);
  EXPECT_EQ(slots_of(*store), 600u);
  EXPECT_THAT(store->check().value(), IsEmpty());
}

TEST_F(Postgres, AServerThatIsRestartedIsFoundAgain) {
  const auto store = open();
  Sender sender(0);
  ASSERT_EQ(append_one(*store, sender.batch(0, 5))->judgement.verdict, Verdict::news);
  server().stop(SIGINT);
  server().start();
  // What was idle is known to be dead, and nobody notices.
  EXPECT_EQ(slots_of(*store), 5u);
  EXPECT_EQ(append_one(*store, sender.batch(5, 5))->judgement.verdict, Verdict::news);
  server().stop(SIGQUIT);
  const auto refused = append_one(*store, sender.batch(10, 5));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().message(), HasSubstr("no PostgreSQL server there takes writes"));
  EXPECT_FALSE(store->tokens().ok());
  server().start();
  while (!append_one(*store, sender.batch(10, 5)).ok()) {
  }
  EXPECT_EQ(slots_of(*store), 15u);
}

TEST_F(Postgres, AServerThatDoesNotAnswerIsNotWaitedForForEver) {
  PostgresTimeouts timeouts;
  timeouts.connect_ms = timeouts.statement_ms = 300;
  timeouts.lock_ms = 200;
  const auto store = open(timeouts);
  Sender sender(0);
  ASSERT_TRUE(append_one(*store, sender.batch(0, 5)).ok());
  std::istringstream pids(
      sql("SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE application_name = "
          "'headway'"));
  std::vector<pid_t> frozen = {server().pid()};
  for (pid_t pid = 0; pids >> pid;) frozen.push_back(pid);
  ASSERT_GE(frozen.size(), 2u);
  for (const pid_t pid : frozen) ::kill(pid, SIGSTOP);
  const auto silent = append_one(*store, sender.batch(5, 5));
  const auto away = store->tokens();
  for (const pid_t pid : frozen) ::kill(pid, SIGCONT);
  ASSERT_FALSE(silent.ok());
  EXPECT_THAT(silent.status().message(), HasSubstr("the server does not answer"));
  ASSERT_FALSE(away.ok());
  EXPECT_THAT(away.status().message(), HasSubstr("no answer within"));
  while (!append_one(*store, sender.batch(5, 5)).ok()) {
  }
  EXPECT_EQ(slots_of(*store), 10u);
}

TEST_F(Postgres, ALockIsNotWaitedForForEver) {
  PostgresTimeouts timeouts;
  timeouts.lock_ms = 100;
  const auto store = open(timeouts);
  Sender sender(0);
  ASSERT_TRUE(append_one(*store, sender.batch(0, 5)).ok());
  auto other = PostgresConnection::open(PostgresAddress::parse(url_).value(), {});
  ASSERT_TRUE((*other)->run("BEGIN; SELECT * FROM job FOR UPDATE").ok());
  const auto out = append_one(*store, sender.batch(5, 5));
  ASSERT_FALSE(out.ok());
  EXPECT_THAT(out.status().message(), HasSubstr("somebody else has it"));
  ASSERT_TRUE((*other)->run("ROLLBACK").ok());
  EXPECT_TRUE(append_one(*store, sender.batch(5, 5)).ok());
}

// Without its synchronous standby a server answers no commit. The sender hears so, nobody else
// begins one, nobody sees what may yet be lost; and when the standby is there it is all there once.
TEST_F(Postgres, ACommitThatIsNotConfirmedIsNotAcknowledged) {
  PostgresTimeouts timeouts;
  timeouts.statement_ms = 500;
  timeouts.lock_ms = 200;
  const auto store = open(timeouts);
  Sender sender(0), other(0, "other");
  ASSERT_TRUE(append_one(*store, sender.batch(0, 5)).ok());
  ASSERT_TRUE(append_one(*store, other.batch(0, 5), "other").ok());
  sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  sql("SELECT pg_reload_conf()");
  while (sql("SHOW synchronous_standby_names") != "nobody") {
  }
  // Backends take the setting over one after the other: until one waits for a standby.
  const auto batch = sender.batch(5, 5);
  auto waiting = append_one(*store, batch);
  ASSERT_FALSE(waiting.ok()) << "it was acknowledged";
  EXPECT_THAT(waiting.status().message(), HasSubstr("does not answer"));
  const auto refused = append_one(*store, other.batch(5, 5), "other");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().message(), HasSubstr("standby"));
  EXPECT_EQ(sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"), "1");
  EXPECT_EQ(slots_of(*store), 5u);
  // Somebody loses patience: the server makes it visible, and it is still no acknowledgement. Who
  // asks again has to wait for the standby, too.
  sql("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  base::Status again;
  do {
    again = append_one(*store, batch).status();
  } while (!again.ok() && again.message().find("standby") != std::string::npos);
  EXPECT_FALSE(again.ok());
  EXPECT_EQ(slots_of(*store), 10u);
  // The standby is there (or somebody decides to do without).
  sql("ALTER SYSTEM RESET synchronous_standby_names");
  sql("SELECT pg_reload_conf()");
  base::Result<Appended> last = again;
  while (!last.ok()) last = append_one(*store, batch);
  EXPECT_EQ(last->judgement.verdict, Verdict::duplicate);
  EXPECT_EQ(slots_of(*store), 10u);
  EXPECT_TRUE(append_one(*store, other.batch(5, 5), "other").ok());
}

// Forgetting beside those who append and read: nobody stops, nothing young goes.
}  // namespace
}  // namespace headway::store
